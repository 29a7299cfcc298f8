import { addressOf } from '../../../services/chassis/protocol/service-logic.ts';
import type { Checker } from './violation.ts';

const rule = 'a service answers every cause at most once';

export const causesOnce: Checker = ({ history }) => {
  const answered = new Map<string, string>();
  return history.lines.flatMap(({ body, header, step, topic, partition, offset }) => {
    if (body.kind !== 'turn' || step.events.length === 0) return [];
    return body.causes.flatMap((cause) => {
      const key = `${header.service} ${addressOf(cause)}`;
      const at = `${topic}/${partition}@${offset}`;
      const before = answered.get(key);
      answered.set(key, at);
      return before === undefined ? [] : [{ rule, detail: `${key} at ${before} and at ${at}` }];
    });
  });
};
