import type { Checker, Violation } from './violation.ts';

const rule = 'every fact counts once';

/** An input is effective once by its id, a turn once by its id: however often their bytes stand in the log. */
export const factsOnce: Checker = ({ history }) => {
  const counted = new Map<string, string>();
  return history.lines.flatMap(({ header, step, topic, partition, offset }): Violation[] => {
    if (step.events.length === 0) return [];
    const at = `${topic}/${partition}@${offset}`;
    const key = `${header.session} ${header.id}`;
    const before = counted.get(key);
    counted.set(key, at);
    return before === undefined
      ? []
      : [{ rule, detail: `${key} counts at ${before} and at ${at}` }];
  });
};
