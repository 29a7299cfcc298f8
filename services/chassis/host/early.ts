import { claimTypes } from '../protocol/event-kinds.ts';
import { placedAt } from '../protocol/fusing.ts';
import type { PlacedRecord } from '../protocol/record.ts';
import { foldEntry, type ServiceEntry } from '../protocol/service-fold.ts';
import { foldCore, type SessionCore } from '../protocol/session-core.ts';
import type { DecidedTurn } from './decider.ts';
import type { EffectTable } from './effects.ts';
import type { HostedService } from './ports.ts';
import { foldSeat, type Slot, sharedCoreFold } from './slot.ts';

/**
 * What a host does too early once a rule is taken away (`ablation.ts`): it takes its own turns for read back when it
 * only wrote them. Nothing here is used otherwise.
 */

/** A turn as if it were the next record of the log. */
const placedNext = (turn: DecidedTurn, { core }: ServiceEntry): PlacedRecord =>
  placedAt(core.last.offset + 1, turn, { batch: turn.id, batchIndex: 0 });

/** Rule 3: the turns count in memory before they are in the log. */
export function foldEarly(slot: Slot, turns: readonly DecidedTurn[]): void {
  for (const turn of turns) {
    for (const seat of slot.seats.values()) {
      if (!seat.known) continue;
      const record = placedNext(turn, seat.entry);
      foldSeat(seat, record, sharedCoreFold(record));
    }
  }
}

/** Rule 9: effects start with the writing of their claims. */
export function startEarly(
  slot: Slot,
  turns: readonly DecidedTurn[],
  parts: Readonly<{ services: readonly HostedService[]; effects: EffectTable }>,
): void {
  for (const turn of turns) {
    const service = parts.services.find(({ logic }) => logic.name === turn.body.service);
    const entry = slot.seats.get(turn.body.service)?.entry;
    if (service === undefined || entry === undefined) continue;
    const record = placedNext(turn, entry);
    const claims = foldCore(entry.core, record).events.filter(({ type }) => claimTypes.has(type));
    const at = { entry: foldEntry(service.logic, entry, { record }), ...turn };
    parts.effects.startAll(service, claims, at);
  }
}

/** Rule 4: a place in the log before the one that was decided at. */
export const earlier = (base: SessionCore['last']): SessionCore['last'] => ({
  ...base,
  offset: base.offset - 1,
});
