import { claimTypes } from '../protocol/event-kinds.ts';
import { foreseeing, placedAt, type UnplacedRecord } from '../protocol/fusing.ts';
import type { PlacedRecord } from '../protocol/record.ts';
import { foldEntry, type ServiceEntry } from '../protocol/service-fold.ts';
import { foldCore, type SessionCore } from '../protocol/session-core.ts';
import type { DecidedTurn } from './decided-turn.ts';
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
  records: readonly UnplacedRecord[],
  parts: Readonly<{ services: readonly HostedService[]; effects: EffectTable }>,
): void {
  const [first] = records;
  const after = slot.core?.last.offset ?? 0;
  const placed = records.map((one, index) =>
    placedAt(after + 1 + index, one, { batch: first?.id ?? '', batchIndex: index }),
  );
  for (const [index, record] of placed.entries()) {
    const service = parts.services.find(({ logic }) => logic.name === record.header.service);
    const seen = slot.seats.get(record.header.service)?.entry;
    if (service === undefined || seen === undefined) continue;
    const before = foreseeing(service.logic, seen, placed.slice(0, index));
    const claims = foldCore(before.core, record).events.filter(({ type }) => claimTypes.has(type));
    const entry = foldEntry(service.logic, before, { record });
    parts.effects.startAll(service, claims, { entry, traceparent: record.header.traceparent });
  }
}

/** Rule 4: a place in the log before the one that was decided at. */
export const earlier = (base: SessionCore['last']): SessionCore['last'] => ({
  ...base,
  offset: base.offset - 1,
});
