import { limits } from '../../../schemas/limits.ts';
import type { PartitionName } from '../log/port.ts';
import { type CheckpointParts, Checkpoints, carryStretch } from './checkpoints.ts';
import type { IgnoredRecords } from './ignored-records.ts';
import { marksOf } from './marks-of.ts';
import type { PartitionLog } from './partition-log.ts';
import type { SessionTable } from './session-table.ts';
import type { Slot } from './slot.ts';
import type { Watermark } from './watermarks.ts';

type UpkeepParts = CheckpointParts &
  Readonly<{ log: PartitionLog; table: SessionTable; ignored: IgnoredRecords }>;

/** What a host does for a partition now and then, so that it stays short to restore and small in memory. */
export class Upkeep {
  private readonly name: PartitionName;
  private readonly parts: UpkeepParts;
  private readonly checkpoints: Checkpoints;

  constructor(name: PartitionName, parts: UpkeepParts) {
    this.name = name;
    this.parts = parts;
    this.checkpoints = new Checkpoints(parts);
  }

  /** Checkpoints that are due; then what is quiet is packed. */
  round(): void {
    const { log, table, ownership } = this.parts;
    const position = log.expected;
    const stretch = carryStretch(table.seats);
    if (ownership.epochs.size > 0)
      table.unpackHolding(position - stretch, limits.checkpointsPerRound);
    this.checkpoints.round(table.slots(), { position, stretch });
    this.packIdle(limits.sessionIdleMs, limits.packedPerRound);
  }

  /** A batch of the session has landed: checkpoints that waited for it. */
  landed(slot: Slot): void {
    this.checkpoints.landed(slot, this.parts.log.expected);
  }

  /** A checkpoint of all that has moved, until this time: what has none is folded by the next host. */
  checkpointAll(untilMs: number): void {
    const { log, table, ports } = this.parts;
    for (const slot of table.moved()) {
      if (ports.clock.nowMs() >= untilMs) return;
      this.checkpoints.everything([slot], log.expected);
    }
  }

  /** Packs sessions that have been quiet so long: they take little memory, and wake when a record of theirs comes. */
  packIdle(quietMs: number, most?: number): void {
    this.parts.table.packIdle(this.parts.ports.clock.nowMs() - quietMs, most);
  }

  marks(services: readonly string[]): readonly Watermark[] {
    const { log, table, ports, ignored } = this.parts;
    log.history.add(log.expected, log.acceptance);
    table.expireEarlyCancels(ports.clock.nowMs() - limits.earlyCancelMs);
    return marksOf(this.name, services, { log, table, ignored });
  }
}
