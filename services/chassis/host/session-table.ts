import type { SeenEvent } from '../../../schemas/event.ts';
import { limits } from '../../../schemas/limits.ts';
import { claimTypes } from '../protocol/event-kinds.ts';
import type { CheckpointBody, PlacedRecord, RecordHeader } from '../protocol/record.ts';
import type { ClosedSessions } from './closed-sessions.ts';
import { canBePacked, PackedSessions } from './packed-sessions.ts';
import type { HostedService } from './ports.ts';
import { foldSeat, restoreSeat, type Seat, Slot, sharedCoreFold } from './slot.ts';
import { canStartFrom, countsAsRoot, mayKeepRoot, standsBy } from './standing-by.ts';

export type Folded = Readonly<{
  slot: Slot;
  /** Whether the record brought events to at least one service. */
  came: boolean;
  /** Those events. */
  events: readonly SeenEvent[];
}>;

/** Checkpoints that a start reads between two looks at what may be packed. */
const packedAtOnce = 1_000;

/** No checkpoint is coming any more: the seat is known by its opening, or by a cancel that came first. */
function isCertain(seat: Seat): boolean {
  seat.known ||= seat.entry.core.status === 'cancelled-early';
  if (!standsBy(seat)) seat.waiting = [];
  return seat.known;
}

/**
 * Until all was read, a checkpoint may come that starts a seat, and the records after its cursor are needed then. So
 * may one for a seat that stands by, at any time.
 */
function keepWaiting(seat: Seat, record: PlacedRecord, catchingUp: boolean): void {
  if (catchingUp || standsBy(seat)) seat.waiting.push(record);
  else isCertain(seat);
}

/** The sessions of one partition in memory: a slot each, a seat in it for each hosted service. */
export class SessionTable {
  private readonly bySession = new Map<string, Slot>();
  private readonly services: readonly HostedService[];
  private readonly closed: ClosedSessions;
  private readonly packed: PackedSessions;
  private claims: readonly SeenEvent[] = [];
  private restored = 0;

  constructor(services: readonly HostedService[], closed: ClosedSessions) {
    this.services = services;
    this.closed = closed;
    this.packed = new PackedSessions(services);
  }

  get(session: string): Slot | undefined {
    const slot = this.bySession.get(session) ?? this.packed.take(session);
    if (slot !== undefined) this.bySession.set(session, slot);
    return slot;
  }

  /** Sessions that are not packed: only of these something may be due. */
  slots(): readonly Slot[] {
    return [...this.bySession.values()];
  }

  /** Ids of all sessions, packed ones too. */
  get sessions(): readonly string[] {
    return [...this.bySession.keys(), ...this.packed.sessions];
  }

  get size(): number {
    return this.bySession.size + this.packed.size;
  }

  get packedSize(): number {
    return this.packed.size;
  }

  /** About so many checkpoints carry everything forward once. */
  get seats(): number {
    return this.size * this.services.length;
  }

  remove(session: string): void {
    this.bySession.delete(session);
  }

  /** Packs what has been quiet since then, in milliseconds since 1970; so many at most. */
  packIdle(quietSinceMs: number, most = Number.POSITIVE_INFINITY): void {
    const packedBefore = this.packed.size;
    for (const slot of this.bySession.values()) {
      if (this.packed.size - packedBefore >= most) return;
      this.packWhenIdle(slot, quietSinceMs);
    }
  }

  packWhenIdle(slot: Slot, quietSinceMs: number): void {
    if (!canBePacked(slot, quietSinceMs)) return;
    this.packed.pack(slot);
    this.bySession.delete(slot.session);
  }

  /** Every session, what is packed only if it has moved since: unpacked one by one, as it is asked for. */
  *moved(): Generator<Slot> {
    yield* [...this.slots()];
    for (const session of [...this.packed.moved]) {
      const slot = this.get(session);
      if (slot !== undefined) yield slot;
    }
  }

  /** Unpacks what holds a watermark below this offset, so that it can be carried forward; so many at most. */
  unpackHolding(offset: number, most: number): void {
    for (const session of this.packed.holdingBelow(offset, most)) this.get(session);
  }

  /** Folds an accepted turn or input into every seat that it concerns. */
  fold(
    record: PlacedRecord,
    at: { catchingUp: boolean; marks: ReadonlyMap<string, number> },
  ): Folded | undefined {
    const { session } = record.header;
    // Also what lies before its closing: a start in its middle would take a cancel or a repeated opening for its first.
    if (this.closed.has(session)) return undefined;
    const slot = this.get(session) ?? new Slot(session);
    slot.trace(record);
    const fold = sharedCoreFold(record);
    let events: readonly SeenEvent[] = [];
    let kept = false;
    this.claims = [];
    for (const { logic } of this.services) {
      if (record.offset < (at.marks.get(logic.name) ?? 0)) continue;
      const seat = slot.seatOf(logic);
      const step = foldSeat(seat, record, fold, slot.foresight);
      keepWaiting(seat, record, at.catchingUp);
      kept ||= seat.known || at.catchingUp;
      if (step === undefined || step.events.length === 0) continue;
      events = step.events;
      if (logic.name === record.header.service) this.noteClaims(step.events);
    }
    if (!kept) return undefined;
    this.bySession.set(session, slot);
    return { slot, came: events.length > 0, events };
  }

  private noteClaims(events: readonly SeenEvent[]): void {
    this.claims = events.filter((event) => claimTypes.has(event.type));
  }

  /** Effective claims of the record that was folded last. */
  claimsOf(record: PlacedRecord): readonly SeenEvent[] {
    return this.claims.filter((claim) => claim.record === record.header.id);
  }

  /** Bodies that nobody here would look at are not decoded. */
  wantsBody(header: RecordHeader, catchingUp: boolean): boolean {
    if (header.kind === 'input' || header.kind === 'turn') return true;
    if (header.kind !== 'checkpoint') return false;
    return (
      this.services.some(({ logic }) => logic.name === header.service) &&
      this.startsFrom(header, catchingUp)
    );
  }

  /**
   * Whether a seat is to start from this checkpoint: it is not known yet, or, as long as not all was read, known only
   * from before the checkpoint's cursor.
   */
  private startsFrom(header: RecordHeader, catchingUp: boolean): boolean {
    const seat = this.get(header.session)?.seats.get(header.service);
    return seat === undefined || canStartFrom(seat, header, catchingUp);
  }

  /** A checkpoint was read: a seat starts from it, or knows that a restore may. */
  restore(
    record: PlacedRecord,
    at: { catchingUp: boolean; marks: ReadonlyMap<string, number> },
  ): void {
    const { header, offset } = record;
    const service = this.services.find(({ logic }) => logic.name === header.service);
    if (service === undefined || offset < (at.marks.get(header.service) ?? 0)) return;
    if (this.closed.has(header.session)) return;
    if (!this.startsFrom(header, at.catchingUp)) {
      this.noteCheckpoint(header, offset);
      return;
    }
    const slot = this.get(header.session) ?? new Slot(header.session);
    const seat = slot.seatOf(service.logic);
    if (mayKeepRoot(seat, record, at.marks.get(header.service) ?? 0)) return;
    this.bySession.set(header.session, slot);
    restoreSeat(seat, record);
    this.restored += 1;
    // A start may meet more sessions than fit into memory unpacked.
    if (this.restored % packedAtOnce === 0)
      this.packIdle((record.body as CheckpointBody).atMs - limits.sessionIdleMs);
  }

  /** A checkpoint of a session that is known already: a restore may start from it. */
  noteCheckpoint(header: RecordHeader, offset: number): void {
    const seat = this.get(header.session)?.seats.get(header.service);
    if (seat?.known !== true || header.cursorOffset > seat.entry.core.last.offset) return;
    if (!countsAsRoot(seat, header)) return;
    // Where nothing of the session lies between its cursor and the checkpoint, the checkpoint alone is enough.
    const whole = header.cursorOffset === seat.entry.core.last.offset;
    const from = whole ? offset : Math.min(offset, header.cursorOffset + 1);
    seat.firstNeeded = Math.max(seat.firstNeeded, from);
    if (!whole) return;
    seat.sinceCheckpoint = 0;
    seat.bytesSince = 0;
  }

  /** All was read: what has neither opening nor checkpoint belongs to sessions that have ended. */
  dropUnknown(): void {
    for (const slot of this.bySession.values()) {
      for (const [name, seat] of slot.seats) if (!isCertain(seat)) slot.seats.delete(name);
      if (slot.seats.size === 0) this.bySession.delete(slot.session);
    }
  }

  /** A cancel whose session never opened holds the watermark only so long. */
  expireEarlyCancels(beforeMs: number): void {
    for (const slot of this.bySession.values()) {
      const { core } = slot;
      if (core?.status === 'cancelled-early' && core.last.atMs < beforeMs)
        this.remove(slot.session);
    }
  }

  /** The first offset that a restore of this service would need; the position where nothing is open. */
  firstNeeded(service: string, position: number): number {
    return this.holderOf(service, position).offset;
  }

  /** The same, and the session that needs it. */
  holderOf(service: string, position: number): { offset: number; session: string | undefined } {
    let { offset, session } = this.packed.holderOf(service, position);
    for (const slot of this.bySession.values()) {
      const seat = slot.seats.get(service);
      if (seat?.known !== true || seat.firstNeeded >= offset) continue;
      offset = seat.firstNeeded;
      session = slot.session;
    }
    return { offset, session };
  }
}
