import { claimTypes } from '../protocol/event-kinds.ts';
import { headersOf, type PlacedRecord, parseHeader } from '../protocol/record.ts';
import { foldEntry, type ServiceEntry } from '../protocol/service-fold.ts';
import { foldCore } from '../protocol/session-core.ts';
import type { SealedTurn } from '../protocol/turn.ts';
import type { EffectTable } from './effects.ts';
import type { HostedService } from './ports.ts';
import { foldSeat, type Slot, sharedCoreFold } from './slot.ts';

/**
 * What a host does too early once a rule is taken away (`ablation.ts`): it takes its own turns for read back when it
 * only wrote them. Nothing here is used otherwise.
 */

type OwnTurn = SealedTurn & Readonly<{ traceparent: string }>;

/** A turn as if it were the next record of the log. */
function placedNext({ id, body, traceparent }: OwnTurn, entry: ServiceEntry): PlacedRecord {
  const place = { batch: id, batchIndex: 0, traceparent };
  const header = parseHeader(headersOf(id, body, place));
  if (header === undefined) throw new Error('a turn of ours has no kind');
  return { offset: entry.core.last.offset + 1, header, body };
}

/** Rule 3: the turns count in memory before they are in the log. */
export function foldEarly(slot: Slot, turns: readonly OwnTurn[]): void {
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
  turns: readonly OwnTurn[],
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

/** Rule 4: a place in the log before the one that the entry stands at. */
export function earlier(entry: ServiceEntry): ServiceEntry {
  const last = { ...entry.core.last, offset: entry.core.last.offset - 1 };
  return { ...entry, core: { ...entry.core, last } };
}
