import { limits } from '../../../schemas/limits.ts';
import { ablated } from '../ablation.ts';
import type { AcceptanceState } from '../protocol/acceptance.ts';
import { canonical, sha256 } from '../protocol/hash.ts';
import type { CheckpointBody } from '../protocol/record.ts';
import { foldWrittenBy, writeEntry } from '../protocol/saved-entry.ts';
import { recordHash, saltOf, sealContent } from '../protocol/seal.ts';
import type { HostIdentity, Ownership } from './ownership.ts';
import type { HostPorts } from './ports.ts';
import type { Seat, Slot } from './slot.ts';
import { standsBy } from './standing-by.ts';
import type { PartitionWriter } from './writer.ts';

export type CheckpointParts = Readonly<{
  ports: HostPorts;
  identity: HostIdentity;
  writer: PartitionWriter;
  ownership: Ownership;
  /** Of the partition, as it moves. */
  acceptance: AcceptanceState;
}>;

type Due = Readonly<{ slot: Slot; seat: Seat; epoch: number; neededFrom: number }>;

/**
 * Records of a partition after which its idle sessions are carried forward. It grows with their number: what is carried
 * forward is part of the log too, and would else push the next round by itself.
 */
export const carryStretch = (seats: number): number =>
  Math.max(limits.carryForwardRecords, seats * limits.carryForwardSpacing);

/**
 * Whether the log since the last checkpoint outweighs the next ones of all seats: a state that grows with its session,
 * written every so many records, would make the log grow with the square of the session's length.
 */
const outweighs = (
  { sinceCheckpoint, bytesSince, checkpointBytes }: Seat,
  seats: number,
): boolean =>
  sinceCheckpoint >= limits.checkpointRecords &&
  bytesSince >= limits.checkpointShare * seats * checkpointBytes;

/** Writes checkpoints, so that a restore is short and the watermark moves (DESIGN 3.11). */
export class Checkpoints {
  private readonly parts: CheckpointParts;

  constructor(parts: CheckpointParts) {
    this.parts = parts;
  }

  /**
   * Of each owned seat that has nothing open and has moved far enough, or holds the watermark far behind the position;
   * those that hold it most first, and so many in one round that sessions which have work do not wait for them.
   */
  round(
    slots: readonly Slot[],
    { position, stretch }: { position: number; stretch: number },
  ): void {
    this.remember(slots);
    const due = this.ready(slots).filter(
      ({ slot, seat, neededFrom }) =>
        outweighs(seat, slot.seats.size) || position - neededFrom > stretch,
    );
    due.sort((left, right) => left.neededFrom - right.neededFrom);
    for (const one of due.slice(0, limits.checkpointsPerRound)) this.write(one, position);
  }

  /** A session that goes on without a pause has always something on the way when it is looked at. */
  private remember(slots: readonly Slot[]): void {
    for (const slot of slots) {
      if (slot.inFlight.size === 0) continue;
      const seats = [...slot.seats.values()];
      slot.checkpointDue = seats.some((seat) => outweighs(seat, seats.length));
    }
  }

  /** Of a session whose batch has just landed: what was due when it could not be written. */
  landed(slot: Slot, position: number): void {
    if (!slot.checkpointDue || slot.inFlight.size > 0) return;
    const due = this.ready([slot]).filter(({ seat }) => outweighs(seat, slot.seats.size));
    slot.checkpointDue = false;
    for (const one of due) this.write(one, position);
  }

  /** Of each owned seat that has moved at all: the host is about to end. */
  everything(slots: readonly Slot[], position: number): void {
    for (const one of this.ready(slots))
      if (one.seat.sinceCheckpoint > 0) this.write(one, position);
  }

  private ready(slots: readonly Slot[]): Due[] {
    const ready: Due[] = [];
    for (const slot of slots) {
      if (slot.inFlight.size > 0 && !ablated('11a')) continue;
      for (const seat of slot.seats.values()) {
        const epoch = this.parts.ownership.epochOf(seat.logic.name);
        const open = seat.entry.causes.length > 0 && !ablated('11a');
        if (epoch === undefined || !seat.known || open) continue;
        if (seat.entry.core.status !== 'open' || standsBy(seat)) continue;
        ready.push({ slot, seat, epoch, neededFrom: Math.max(seat.firstNeeded, seat.carriedAt) });
      }
    }
    return ready;
  }

  private write({ slot, seat, epoch }: Due, position: number): void {
    const { acceptance, ownership, writer } = this.parts;
    const body = this.bodyOf(slot, seat, epoch);
    const id = `ckp_${recordHash(body).slice(0, 32)}`;
    writer.push({
      records: [{ id, body, traceparent: '' }],
      stale: () => ownership.epochOf(seat.logic.name) !== epoch,
      onRefused: () => ownership.renew(acceptance),
    });
    // Not again for the same records while this one is on the way.
    seat.carriedAt = position;
    seat.sinceCheckpoint = 0;
    seat.bytesSince = 0;
    seat.checkpointBytes = body.state.bytes;
  }

  private bodyOf(slot: Slot, seat: Seat, epoch: number): CheckpointBody {
    const { identity, ports } = this.parts;
    const { beginning, logic } = seat;
    const { root } = seat.entry;
    const saved = writeEntry(logic, seat.entry);
    const { last } = seat.entry.core;
    return {
      kind: 'checkpoint',
      session: slot.session,
      service: logic.name,
      epoch,
      incarnation: identity.incarnation,
      cursor: { record: last.record, offset: last.offset },
      ...(root === undefined ? {} : { root }),
      ...(beginning < 0 ? {} : { beginning }),
      behaviour: logic.behaviour,
      fold: foldWrittenBy(logic),
      machines: logic.machines,
      stateHash: sha256(canonical(saved)),
      state: sealContent(saltOf(slot.session), { mediaType: 'application/json', body: saved }),
      atMs: ports.clock.nowMs(),
      release: identity.release,
    };
  }
}
