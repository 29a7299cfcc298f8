import { canonical } from '../../../services/chassis/protocol/hash.ts';
import { diceOf } from '../world/dice.ts';
import { decideAgain, differenceOf } from './decisions.ts';
import type { Checker, Violation } from './violation.ts';

const rule = 'a decision does not depend on the order of members';

/** Share of turns that are decided again like this; over many seeds it covers every decision. */
const share = 0.1;

const throughCanonical = <T>(value: T): T => JSON.parse(canonical(value)) as T;

/** States, facts and contents may come from a checkpoint or a blob: sorted members, other objects. */
export const memberOrder: Checker = ({ history, schedule }) => {
  const found: Violation[] = [];
  const dice = diceOf('order', schedule.seed);
  for (const { line, seen } of history.turns()) {
    const { body, header, topic, partition, offset } = line;
    const logic = history.logicOf(header.service, header.behaviour);
    if (body.kind !== 'turn' || seen === undefined || logic === undefined) continue;
    if (!dice.chance(share)) continue;
    // Of the base a decision takes no more than where it is.
    const other = { base: seen.base, entry: throughCanonical(seen.entry) };
    const again = decideAgain(logic, other, throughCanonical(body));
    if (again.id === header.id) continue;
    const at = `${topic}/${partition}@${offset} ${header.service}`;
    found.push({ rule, detail: `${at}: ${differenceOf(again.body, body)}` });
  }
  return found;
};
