import type { LogRecord } from '../../services/chassis/log/port.ts';
import { type AcceptanceState, accept } from '../../services/chassis/protocol/acceptance.ts';
import { parseHeader, type RecordBody } from '../../services/chassis/protocol/record.ts';
import {
  foldCore,
  type SessionCore,
  unknownSession,
} from '../../services/chassis/protocol/session-core.ts';
import { eventStoreLogic, type SinkState } from '../../services/event-store/decide.ts';

/**
 * What the event stores say themselves that they have stored, read from one partition of their own
 * log by the rules that every reader follows: one state for each partition that is stored. A range
 * is said to be stored when the database has answered its insert, so whatever the database keeps up
 * with the rows is there as well.
 */
export function storedRanges(
  partition: readonly LogRecord[],
  decode: (value: Uint8Array) => RecordBody,
): readonly SinkState[] {
  const acceptance: AcceptanceState = {};
  const cores = new Map<string, SessionCore>();
  const states = new Map<string, SinkState>();
  for (const record of partition) {
    const header = parseHeader(record.headers);
    if (header === undefined || !accept(acceptance, header) || record.value === null) continue;
    if (header.kind !== 'turn' && header.kind !== 'input') continue;
    const { session } = header;
    const known = cores.get(session) ?? unknownSession(session);
    const body = decode(record.value);
    const { core, events } = foldCore(known, { offset: record.offset, header, body });
    cores.set(session, core);
    const state = states.get(session) ?? eventStoreLogic.initial();
    states.set(session, events.reduce(eventStoreLogic.evolve, state));
  }
  return [...states.values()];
}
