import type { Checker } from './violation.ts';

const rule = 'a turn is never earlier than its base';

export const timeOrder: Checker = ({ history }) =>
  [...history.turns()].flatMap(({ line, seen }) => {
    const { body, topic, partition, offset } = line;
    if (seen === undefined || body.atMs >= seen.entry.core.last.atMs) return [];
    const detail = `${topic}/${partition}@${offset} is at ${body.atMs}, what it knew at ${seen.entry.core.last.atMs}`;
    return [{ rule, detail }];
  });
