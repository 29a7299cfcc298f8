import { decideAgain, differenceOf } from './decisions.ts';
import type { Checker, Violation } from './violation.ts';

const rule = 'every effective decision equals a fresh fold at its base with its facts';

export const decisionsRecomputed: Checker = ({ history }) => {
  const found: Violation[] = [];
  for (const { line, seen } of history.turns()) {
    const { body, header, topic, partition, offset } = line;
    const at = `${topic}/${partition}@${offset} ${header.service}`;
    if (body.kind !== 'turn') continue;
    const logic = history.logicOf(body.service, body.behaviour);
    if (logic === undefined || seen === undefined) {
      found.push({ rule, detail: `${at}: nothing to decide from at its base ${body.baseOffset}` });
      continue;
    }
    const again = decideAgain(logic, seen, body);
    if (again.id !== header.id)
      found.push({ rule, detail: `${at}: ${differenceOf(again.body, body)}` });
  }
  return found;
};
