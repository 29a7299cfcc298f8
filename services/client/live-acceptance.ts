/**
 * Acceptance for a reader that began in the middle of a partition. The state before is unknown, so
 * the first numbered record of a service sets it; from then on the rule of all readers holds. Until
 * an owner is seen, a record of a process that lost its ownership may be taken for real: good
 * enough for a live display, never for a decision.
 */
import { type AcceptanceState, accept } from '../chassis/protocol/acceptance.ts';
import type { RecordHeader } from '../chassis/protocol/record.ts';

/** Takes the next record of the partition into the state and says whether it counts. */
export function acceptLive(state: AcceptanceState, header: RecordHeader): boolean {
  const numbered = header.kind === 'turn' || header.kind === 'checkpoint';
  const known = state[header.service];
  if (numbered && (known === undefined || header.epoch > known.number)) {
    const { epoch, incarnation, sequence } = header;
    state[header.service] = { number: epoch, incarnation, sequence: sequence - 1 };
  }
  if (header.kind === 'input' && header.epoch > (known?.number ?? 0)) return true;
  return accept(state, header);
}
