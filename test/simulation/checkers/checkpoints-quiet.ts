import type { Draft } from '../../../schemas/event.ts';
import { decideEntry, noFacts } from '../../../services/chassis/protocol/decision.ts';
import type { Checker } from './violation.ts';

const rule = 'a checkpoint is taken only when nothing is due';

/** They decide by facts of their host, which nobody has here: that they cannot decide without them says nothing. */
const byFacts: ReadonlySet<string> = new Set([
  'model-gateway',
  'planner',
  'sandbox-executor',
  'supervisor',
]);

const isOwed =
  (service: string) =>
  ({ type }: Draft): boolean =>
    type !== 'decision.failed' || !byFacts.has(service);

/** Due at its cursor, from the state alone. What a service saw and answered with nothing is not open. */
export const checkpointsQuiet: Checker = ({ history }) =>
  history.lines.flatMap(({ body, accepted, topic, partition, offset }) => {
    if (body.kind !== 'checkpoint' || !accepted) return [];
    const { service, session, cursor } = body;
    const logic = history.logicOf(service);
    const entry = history.entryBefore({ service, session }, cursor.offset + 1);
    if (logic === undefined || entry === undefined || entry.causes.length === 0) return [];
    const decided = decideEntry(logic, entry, noFacts(entry.core.last.atMs));
    const due = decided.filter(isOwed(service)).map(({ type }) => type);
    if (due.length === 0) return [];
    const at = `${topic}/${partition}@${offset}`;
    return [{ rule, detail: `${service} in ${session} at ${at} owes ${due.join(', ')}` }];
  });
