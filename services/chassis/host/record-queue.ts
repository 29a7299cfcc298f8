import { limits } from '../../../schemas/limits.ts';
import { ablated } from '../ablation.ts';
import { LongreinError, toError } from '../errors.ts';
import type { LogRecord, PartitionName, Reader } from '../log/port.ts';
import type { PlacedRecord } from '../protocol/record.ts';
import type { Turn } from './lane-turns.ts';
import { giveUpCommand } from './mending.ts';

export type Queued = LogRecord | PlacedRecord;
export const isPlaced = (record: Queued): record is PlacedRecord => 'body' in record;

export type QueueParts = Readonly<{
  partition: PartitionName;
  reading: Pick<Reader, 'pause' | 'resume' | 'skip'>;
  /** Takes the next record. Records come one at a time, in order. */
  process(record: Queued): Promise<void> | undefined;
  /** Asked before each record. */
  turn?: Turn | undefined;
  /** A record was taken; the position moved. */
  onTaken(record: Queued): void;
  onHalt(error: LongreinError): void;
}>;

/**
 * Records of one partition on their way in, from the reader and, past it, from the own writer (the short cut).
 *
 * Q1 Each offset is taken once, in order; a gap stops the partition (DESIGN 3.13).
 * Q2 The reader waits while the queue is long. Own records come by it then, as everybody's: who writes more than is taken
 *    would fill the memory past it.
 * Q3 The reader never stands behind what was queued: it would bring the records between to nobody.
 */
export class RecordQueue {
  private readonly queue: Queued[] = [];
  private readonly parts: QueueParts;
  /** Offset of the next record to take, and of the next one to be queued. */
  private next: number;
  private queuedTo: number;
  private pumping = false;
  private paused = false;
  halted = false;

  constructor(start: number, parts: QueueParts) {
    this.next = start;
    this.queuedTo = start;
    this.parts = parts;
  }

  /** Offset of the next record to take. */
  get expected(): number {
    return this.next;
  }

  /** Offset of the next record to be queued. */
  get position(): number {
    return this.queuedTo;
  }

  get empty(): boolean {
    return this.queue.length === 0 && !this.pumping;
  }

  /**
   * Records of our own, as acknowledged: taken at once if nothing lies between that is not queued yet. Only what was taken
   * need not be read any more: the reader hands over what it has in parts, and may stand anywhere before or within these.
   */
  pushOwn(records: readonly PlacedRecord[]): void {
    const [first] = records;
    if (first === undefined || this.paused || first.offset > this.queuedTo) return;
    this.push(records);
    const end = (records.at(-1) ?? first).offset + 1;
    this.parts.reading.skip?.(this.parts.partition, first.offset, end);
  }

  /** Records as read; those that are known already are left out. */
  push(records: readonly Queued[]): void {
    for (const record of records) {
      if (record.offset < this.queuedTo) continue;
      this.queue.push(record);
      this.queuedTo = record.offset + 1;
    }
    if (this.queue.length > limits.partitionQueueMax && !this.paused) this.flow(true);
    this.pump();
  }

  private flow(pause: boolean): void {
    this.paused = pause;
    if (pause) this.parts.reading.pause(this.parts.partition);
    else this.parts.reading.resume(this.parts.partition);
  }

  private pump(): void {
    if (this.pumping || this.halted) return;
    this.pumping = true;
    this.drain().catch((thrown: unknown) => this.halt(toError(thrown)));
  }

  private async drain(): Promise<void> {
    try {
      while (this.queue.length > 0 && !this.halted) {
        const turn = this.parts.turn?.();
        if (turn !== undefined) await turn;
        if (this.halted) return;
        const record = this.queue.shift() as Queued;
        if (this.paused && this.queue.length < limits.partitionQueueMax / 5) this.flow(false);
        if (record.offset < this.next) continue;
        this.checkPosition(record);
        const waiting = this.parts.process(record);
        if (waiting !== undefined) await waiting;
        this.next = record.offset + 1;
        this.parts.onTaken(record);
      }
    } finally {
      // In the same turn as the last look at the queue: a push right after must find it free.
      this.pumping = false;
    }
  }

  private checkPosition(record: Queued): void {
    if (record.offset === this.next || ablated('13a')) return;
    const { topic, partition } = this.parts.partition;
    const message = `${topic}/${partition}: expected offset ${this.next}, got ${record.offset}`;
    throw new LongreinError('LOG_GAP', message, {
      fix: `records are missing from the log: restore the topic from a replica or a backup; if all that is there may be lost: ${giveUpCommand(this.parts.partition)}`,
    });
  }

  halt(error: Error): void {
    this.halted = true;
    const known = error instanceof LongreinError ? error : undefined;
    this.parts.onHalt(
      known ?? new LongreinError('PARTITION_FAILED', error.message, { cause: error }),
    );
  }
}
