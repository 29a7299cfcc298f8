import { decideEntry, noFacts } from '../../../services/chassis/protocol/decision.ts';
import type { Checker } from './violation.ts';

const rule = 'a checkpoint is taken only when nothing is due';

/** Due at its cursor, from the state alone. What a service saw and answered with nothing is not open. */
export const checkpointsQuiet: Checker = ({ history }) =>
  history.lines.flatMap(({ body, accepted, topic, partition, offset }) => {
    if (body.kind !== 'checkpoint' || !accepted) return [];
    const { service, session, cursor } = body;
    const logic = history.logicOf(service);
    const entry = history.entryBefore({ service, session }, cursor.offset + 1);
    if (logic === undefined || entry === undefined || entry.causes.length === 0) return [];
    const due = decideEntry(logic, entry, noFacts(entry.core.last.atMs)).map(({ type }) => type);
    if (due.length === 0) return [];
    const at = `${topic}/${partition}@${offset}`;
    return [{ rule, detail: `${service} in ${session} at ${at} owes ${due.join(', ')}` }];
  });
