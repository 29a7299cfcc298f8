import type { Checker } from './violation.ts';

const rule = 'a turn is never earlier than its base';

export const timeOrder: Checker = ({ history }) =>
  [...history.turns()].flatMap(({ line, base }) => {
    const { body, topic, partition, offset } = line;
    if (base === undefined || body.atMs >= base.core.last.atMs) return [];
    const detail = `${topic}/${partition}@${offset} is at ${body.atMs}, its base at ${base.core.last.atMs}`;
    return [{ rule, detail }];
  });
