import { ablated } from '../ablation.ts';
import type { Language } from '../protocol/language.ts';
import type { PlacedRecord, Refused } from '../protocol/record.ts';
import { weightOf } from '../protocol/record-weight.ts';
import { readCheckpoint } from '../protocol/saved-entry.ts';
import { foldEntry, newEntry, type ServiceEntry, standByOf } from '../protocol/service-fold.ts';
import type { AnyLogic } from '../protocol/service-logic.ts';
import {
  type CoreStep,
  foldCore,
  type SessionCore,
  unknownSession,
} from '../protocol/session-core.ts';
import type { Foresight } from './foresight.ts';

/** One service's part of a session in memory. */
export type Seat = {
  readonly logic: AnyLogic;
  entry: ServiceEntry;
  /** False until the session's opening or a checkpoint was read. */
  known: boolean;
  /** Records read while catching up: a checkpoint that comes later starts from some place among them. */
  waiting: PlacedRecord[];
  /** Cursor of the checkpoint that the entry started from; -1 without one. */
  rootCursor: number;
  /** Offset of the session's first record; -1 where it is not known. */
  beginning: number;
  /** The first offset that a restore of this seat would need. */
  firstNeeded: number;
  /** Records folded since the last checkpoint that was read back. */
  sinceCheckpoint: number;
  /** About the bytes of those records, contents included. */
  bytesSince: number;
  /** Bytes of the state in the newest checkpoint that was written or read; 0 without one. */
  checkpointBytes: number;
  /** Position at which the newest checkpoint was written. */
  carriedAt: number;
  /** Decide even without causes: facts changed. */
  kick: boolean;
};

/** So many deliveries that have ended are remembered before it is looked which are closed. */
const endedDeliveriesMax = 64;

/** A session of a partition in memory, with a seat for each hosted service that knows it. */
export class Slot {
  readonly session: string;
  readonly seats = new Map<string, Seat>();
  /** Ids of records of this host's batch that is on the way (DESIGN 3.6). */
  readonly inFlight = new Set<string>();
  /** What the services here know of that batch already. */
  foresight: Foresight | undefined;
  /** Addresses of own events: deliveries on the way, and acknowledged ones not yet recorded. */
  readonly sending = new Set<string>();
  readonly acknowledged = new Set<string>();
  /** Deliveries that the broker will never take, by the address of their event. */
  readonly refused = new Map<string, Refused>();
  /** Services whose newest turn no broker takes, for its size. */
  readonly turnRefused = new Map<string, Refused>();
  /** A checkpoint is due, and waits for a moment in which nothing of the session is on the way. */
  checkpointDue = false;
  /** The broker does not take several of its turns at once. */
  singly = false;
  /** Services -> own turns in a row that did not count (`void-turns.ts`). */
  readonly voidTurns = new Map<string, number>();
  /** Context of the newest record, for spans. */
  readonly traces = new Map<string, string>();
  traceparent = '';
  /** What seats know before the first record: the same object, so that the core is folded once for all of them. */
  private readonly unknown: SessionCore;

  constructor(session: string) {
    this.session = session;
    this.unknown = unknownSession(session);
  }

  /** Any seat's core: all known seats agree on it, but for those that stand by. */
  get core(): SessionCore | undefined {
    let ofStandBy: SessionCore | undefined;
    for (const { known, entry } of this.seats.values()) {
      if (!known) continue;
      if (standByOf(entry) === undefined) return entry.core;
      ofStandBy ??= entry.core;
    }
    return ofStandBy;
  }

  seatOf(logic: AnyLogic): Seat {
    const known = this.seats.get(logic.name);
    if (known !== undefined) return known;
    const entry = newEntry(logic, this.session, this.unknown);
    const offsets = { firstNeeded: Number.POSITIVE_INFINITY, rootCursor: -1, carriedAt: -1 };
    const counts = { ...offsets, beginning: -1, sinceCheckpoint: 0, bytesSince: 0 };
    const seat: Seat = {
      logic,
      entry,
      known: false,
      waiting: [],
      kick: false,
      checkpointBytes: 0,
      ...counts,
    };
    this.seats.set(logic.name, seat);
    return seat;
  }

  /** Deliveries that are closed in the log need not be remembered: a session may send without end. */
  forgetClosedDeliveries(): void {
    if (this.acknowledged.size + this.refused.size <= endedDeliveriesMax) return;
    const open = new Set(
      [...this.seats.values()].flatMap(({ entry }) => Object.keys(entry.outbox)),
    );
    for (const address of [...this.acknowledged, ...this.refused.keys()]) {
      if (open.has(address)) continue;
      this.acknowledged.delete(address);
      this.refused.delete(address);
      this.sending.delete(address);
    }
  }

  /** For a host without rule 7: what is open counts as answered. */
  forgetCauses(): void {
    for (const seat of this.seats.values()) seat.entry = { ...seat.entry, causes: [] };
  }

  /** For a host without rule 12: what is open counts as sent. */
  forgetDeliveries(): void {
    for (const { entry } of this.seats.values())
      for (const address of Object.keys(entry.outbox)) this.sending.add(address);
  }

  trace(record: PlacedRecord): void {
    const { id, traceparent } = record.header;
    if (traceparent === '') return;
    this.traceparent = traceparent;
    this.traces.set(id, traceparent);
    if (this.traces.size <= 64) return;
    const oldest = this.traces.keys().next().value;
    if (oldest !== undefined) this.traces.delete(oldest);
  }
}

/** All services of a host are of one release: they speak the same language. */
type CoreFold = (core: SessionCore, language: Language | undefined) => CoreStep;

/** Folds the core once for all seats that stand at the same one. */
export function sharedCoreFold(record: PlacedRecord): CoreFold {
  let from: SessionCore | undefined;
  let step: CoreStep | undefined;
  return (core, language) => {
    if (step !== undefined && from === core) return step;
    from = core;
    step = foldCore(core, record, language);
    return step;
  };
}

/** Folds one record into one seat. Answers what the record brought to this seat. */
export function foldSeat(
  seat: Seat,
  record: PlacedRecord,
  fold: CoreFold,
  foresight?: Foresight,
): CoreStep | undefined {
  const { core } = seat.entry;
  if (ablated('3a') && core.recent.includes(record.header.id))
    return fold(core, seat.logic.language);
  if (record.offset <= core.last.offset) return undefined;
  const before = seat.entry;
  const landed = foresight?.landed(seat.logic.name, before, record);
  const step = landed?.step ?? fold(core, seat.logic.language);
  seat.entry = landed?.entry ?? foldEntry(seat.logic, before, { record, step });
  if (seat.entry !== before) {
    seat.sinceCheckpoint += 1;
    seat.bytesSince += weightOf(record.body);
  }
  const { status } = step.core;
  // What nobody here understands may be the beginning of a session.
  if (!seat.known && (status !== 'unknown' || standByOf(seat.entry) !== undefined)) {
    // A cancel that comes first may be one of a session whose checkpoint is yet to be read.
    seat.known = status !== 'cancelled-early';
    seat.firstNeeded = Math.min(seat.firstNeeded, record.offset);
    seat.beginning = seat.firstNeeded;
  }
  return step;
}

/**
 * Starts a seat from a checkpoint and folds what was read after its cursor. What the seat held before does not count: an
 * opening that was read after the mark may have been a repeat.
 */
export function restoreSeat(seat: Seat, record: PlacedRecord): void {
  const { body, header, offset } = record;
  if (body.kind !== 'checkpoint') return;
  seat.entry = readCheckpoint(seat.logic, body, header.id);
  seat.known = true;
  seat.beginning = body.beginning ?? -1;
  seat.kick = true;
  seat.sinceCheckpoint = 0;
  seat.bytesSince = 0;
  seat.checkpointBytes = body.state.bytes;
  seat.rootCursor = body.cursor.offset;
  seat.firstNeeded = Math.min(offset, body.cursor.offset + 1);
  seat.waiting = seat.waiting.filter((one) => one.offset > body.cursor.offset);
  if (ablated('11d')) seat.waiting = [];
  for (const one of seat.waiting) foldSeat(seat, one, sharedCoreFold(one));
}
