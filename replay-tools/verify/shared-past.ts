import type { SeenEvent } from '../../schemas/event.ts';
import {
  endOfPast,
  type Forked,
  forkedCallId,
  timersOf,
} from '../../services/chassis/protocol/forked-past.ts';
import { canonical } from '../../services/chassis/protocol/hash.ts';
import type { PlacedRecord } from '../../services/chassis/protocol/record.ts';
import { changesOf } from './changes.ts';
import { checkIntegrity, Digests, differenceAt } from './integrity.ts';
import type { Findings } from './report.ts';

/** What a fork's opening says of the past that it shares, against that past. Its decisions are its own session's to prove. */

/** Members that follow from the past; texts for people are not among them. */
function saidOf({ data }: Forked) {
  const calls = data.calls.map(({ was, call }) => ({ was, call }));
  return { last: data.last, to: data.to, timers: data.timers, calls };
}

function foundIn(past: readonly PlacedRecord[], { data }: Forked, session: string) {
  const end = endOfPast(past, data.of);
  const last = past.at(-1);
  return {
    last: last?.header.id ?? '',
    to: last?.offset ?? -1,
    timers: timersOf(end, data.shiftMs),
    calls: [...end.open.keys()].map((was) => ({ was, call: forkedCallId(session, was) })),
  };
}

/** Whether the record opens a fork whose past whoever read it could not read. */
export const lacksPast = ({ body }: PlacedRecord): boolean =>
  body.kind === 'input' && body.event.type === 'session.forked' && body.past === undefined;

/** Checks a fork's opening, and every record of the past that it shares for being as it was written. */
export function checkSharedPast(record: PlacedRecord, event: SeenEvent, findings: Findings): void {
  const { body } = record;
  if (event.type !== 'session.forked' || body.kind !== 'input' || body.past === undefined) return;
  const digests = Digests.of(event.data.of);
  for (const one of body.past) checkIntegrity(one, digests, findings);
  const [said, found] = [saidOf(event), foundIn(body.past, event, body.session)];
  if (canonical(said) === canonical(found)) return;
  const message = 'this fork says something else of the past that it shares than what is there';
  const at = { eventIndex: 0, eventType: event.type, changes: changesOf(said, found) };
  findings.differ(differenceAt(record, { kind: 'base', message, ...at }));
}
