import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { ServiceEntry } from '../protocol/service-fold.ts';
import type { SessionCore } from '../protocol/session-core.ts';
import type { HostedService } from './ports.ts';
import { type Seat, Slot } from './slot.ts';
import { standsBy } from './standing-by.ts';

type PackedSeat = Readonly<{
  service: string;
  entry: Omit<ServiceEntry, 'core'> & { core?: SessionCore };
}> &
  Omit<Seat, 'logic' | 'entry' | 'waiting'>;

type PackedSlot = Pick<Slot, 'traceparent' | 'singly'> &
  Readonly<{ core: SessionCore; seats: readonly PackedSeat[] }>;

type Packed = Readonly<{
  /** Deflated JSON, a character a byte: strings cost little beside what they hold. */
  bytes: string;
  /** What a restore needs, in the order of the services; -1 where a service has no seat. */
  needed: readonly number[];
  /** The lowest place that a seat holds the watermark at. */
  holdsAt: number;
  /** Whether a seat has moved since its last checkpoint. */
  moved: boolean;
}>;

/** Deflate looks no further back than this. */
const dictionaryBytesMax = 32_768;

const isIdle = (seat: Seat): boolean =>
  seat.known &&
  seat.waiting.length === 0 &&
  seat.entry.causes.length === 0 &&
  Object.keys(seat.entry.outbox).length === 0 &&
  !standsBy(seat);

/** Whether nothing of a session waits for anything but a record that is yet to come, or a timer. */
export function canBePacked(slot: Slot, quietSinceMs: number): boolean {
  const { core } = slot;
  if (core?.status !== 'open' || core.last.atMs > quietSinceMs) return false;
  if (slot.inFlight.size + slot.refused.size + slot.turnRefused.size > 0) return false;
  if (Object.keys(core.calls).length > 0) return false;
  return [...slot.seats.values()].every(isIdle);
}

/**
 * Idle sessions of one partition, each as a few hundred bytes: a host holds tens of thousands that wait for a person.
 * What is packed is what a checkpoint would hold, so packing changes no decision.
 */
export class PackedSessions {
  private readonly bySession = new Map<string, Packed>();
  private readonly services: readonly HostedService[];
  /** The first session that was packed: others look much like it. */
  private dictionary: Buffer | undefined;

  constructor(services: readonly HostedService[]) {
    this.services = services;
  }

  get size(): number {
    return this.bySession.size;
  }

  get sessions(): readonly string[] {
    return [...this.bySession.keys()];
  }

  pack(slot: Slot): void {
    const text = JSON.stringify(packedSlot(slot));
    const whole = Buffer.from(text);
    this.dictionary ??= Buffer.from(whole.subarray(-dictionaryBytesMax));
    const bytes = deflateRawSync(whole, { dictionary: this.dictionary }).toString('latin1');
    const seats = this.services.map(({ logic }) => slot.seats.get(logic.name));
    const held = [...slot.seats.values()].map((one) => Math.max(one.firstNeeded, one.carriedAt));
    this.bySession.set(slot.session, {
      bytes,
      needed: seats.map((seat) => seat?.firstNeeded ?? -1),
      holdsAt: Math.min(...held),
      moved: [...slot.seats.values()].some((seat) => seat.sinceCheckpoint > 0),
    });
  }

  /** The session as it was; it is packed no more. */
  take(session: string): Slot | undefined {
    const packed = this.bySession.get(session);
    if (packed === undefined) return undefined;
    this.bySession.delete(session);
    const { dictionary } = this;
    const whole = inflateRawSync(Buffer.from(packed.bytes, 'latin1'), dictionary && { dictionary });
    return this.unpacked(session, JSON.parse(whole.toString()) as PackedSlot);
  }

  private unpacked(session: string, { core, traceparent, singly, seats }: PackedSlot): Slot {
    const slot = new Slot(session);
    slot.traceparent = traceparent;
    slot.singly = singly;
    for (const { service, entry, ...rest } of seats) {
      const hosted = this.services.find(({ logic }) => logic.name === service);
      if (hosted === undefined) continue;
      const { logic } = hosted;
      slot.seats.set(service, { ...rest, logic, waiting: [], entry: { core, ...entry } });
    }
    return slot;
  }

  /** Sessions that hold a watermark below this offset, so many at most. */
  holdingBelow(offset: number, most: number): readonly string[] {
    const found: string[] = [];
    for (const [session, { holdsAt }] of this.bySession) {
      if (holdsAt < offset) found.push(session);
      if (found.length >= most) break;
    }
    return found;
  }

  /** Sessions that have moved since their last checkpoints. */
  get moved(): readonly string[] {
    return [...this.bySession].flatMap(([session, { moved }]) => (moved ? [session] : []));
  }

  /** The session that needs the lowest offset for a restore of this service, where it is below the given one. */
  holderOf(service: string, position: number): { offset: number; session: string | undefined } {
    const at = this.services.findIndex(({ logic }) => logic.name === service);
    let holder: { offset: number; session: string | undefined } = {
      offset: position,
      session: undefined,
    };
    for (const [session, { needed }] of this.bySession) {
      const offset = needed[at] ?? -1;
      if (offset >= 0 && offset < holder.offset) holder = { offset, session };
    }
    return holder;
  }
}

function packedSlot(slot: Slot): PackedSlot {
  const core = slot.core as SessionCore;
  const same = JSON.stringify(core);
  const seats = [...slot.seats].map(([service, { logic: _logic, waiting: _none, ...seat }]) => {
    const { core: own, ...entry } = seat.entry;
    const shared = own === core || JSON.stringify(own) === same;
    return { ...seat, service, entry: shared ? entry : seat.entry };
  });
  const { traceparent, singly } = slot;
  return { core, traceparent, singly, seats };
}
