import { limits } from '../../schemas/limits.ts';
import { LongreinError, toError } from '../chassis/errors.ts';
import { AcceptanceHistory } from '../chassis/host/acceptance-history.ts';
import type { Clock, Logger } from '../chassis/host/ports.ts';
import type { LogRecord, PartitionName, Reader } from '../chassis/log/port.ts';
import type { AcceptanceState } from '../chassis/protocol/acceptance.ts';
import { rowsEnough } from './decide.ts';
import { decodeRecord } from './decoded-record.ts';
import { DueTimer } from './due-timer.ts';
import { type FailedSession, failedIn } from './failed-sessions.ts';
import { countRows, rowsOf } from './judgement.ts';
import type { MemoryBudget } from './memory-budget.ts';
import type { PartitionFold } from './partition-fold.ts';
import {
  bytesOf,
  type Cut,
  type ReadyRecord,
  ReadyRows,
  rangeBytesMax,
  rangeRowsMax,
} from './ready-rows.ts';
import type { EventRow } from './row.ts';

export type SourceParts = Readonly<{
  /** What rows call the topic. */
  storedAs: string;
  clock: Clock;
  logger: Logger;
  budget: MemoryBudget;
  reading: Pick<Reader, 'pause' | 'resume' | 'unassign'>;
  /** How long rows wait for more, in milliseconds; `ended`: a session's end is among them. */
  waitMs(ended: boolean): number;
  /** There is enough to store, or it has waited long enough. */
  onDue: () => void;
  /** The log is not what it must be: nothing of this partition is stored any more. */
  onBroken: (error: Error) => void;
}>;

/**
 * Where a source starts: the state of the log there, and the first offset of which rows are wanted.
 */
export type SourceStart = Readonly<{
  fold: PartitionFold;
  offset: number;
  next: number;
  /**
   * Another program's transactions may leave holes in a public topic; in a session log nothing is
   * missing.
   */
  gapless: boolean;
}>;

type Waiter = Readonly<{
  from: number;
  to: number;
  resolve: (records: readonly ReadyRecord[]) => void;
  reject: (error: Error) => void;
}>;

/** Records that are judged in one go; between two goes others have their turn. */
const sliceRecords = 200;
const queueMax = limits.partitionQueueMax;

/**
 * One partition on its way into the event store: reads, judges, and keeps the rows that are not
 * stored yet. Reads no further while much is kept, unless a fixed range is not complete.
 */
export class Source {
  readonly name: PartitionName;
  private readonly parts: SourceParts;
  private readonly fold: PartitionFold;
  private readonly gapless: boolean;
  private readonly ready = new ReadyRows();
  private readonly history: AcceptanceHistory;
  private readonly queue: LogRecord[] = [];
  private queueBytes = 0;
  private waiters: Waiter[] = [];
  /** Offset of the next record to be judged, and of the first one whose rows are wanted. */
  private expected: number;
  private next: number;
  private pumping = false;
  private paused = false;
  private closed = false;
  private told = false;
  private readonly timer: DueTimer;

  constructor(name: PartitionName, parts: SourceParts, start: SourceStart) {
    this.name = name;
    this.parts = parts;
    this.fold = start.fold;
    this.gapless = start.gapless;
    this.expected = start.offset;
    this.next = start.next;
    this.history = new AcceptanceHistory(start.offset, start.fold.acceptance);
    this.timer = new DueTimer(parts.clock, () => this.tell());
  }

  get position(): number {
    return this.expected;
  }

  /** Somebody waits for the rows of a range. */
  get isWanted(): boolean {
    return this.waiters.length > 0;
  }

  get waiting(): { rows: number; oldestAtMs: number | undefined } {
    return { rows: this.ready.rows, oldestAtMs: this.ready.oldest?.log.timestampMs };
  }

  /** Records from the reader. */
  take(records: readonly LogRecord[]): void {
    for (const record of records) {
      this.queue.push(record);
      this.queueBytes += record.value?.length ?? 0;
    }
    this.lookAgain();
    this.pump();
  }

  /** Forgets rows below `next`: they are stored. */
  release(next: number): void {
    if (next > this.next) this.next = next;
    this.ready.release(next);
    this.account();
    this.lookAgain();
  }

  /** What should be fixed now; undefined where that is not worth it yet: then `onDue` comes when it is. */
  cut(): Cut | undefined {
    this.told = false;
    const { oldest, rows } = this.ready;
    const waitedMs = this.parts.clock.nowMs() - (oldest?.readyAtMs ?? 0);
    // What is due now is decided now, or when the range before it is stored: both look here again.
    if (rows >= rowsEnough || waitedMs >= this.parts.waitMs(this.ready.hasEnd))
      return this.ready.cut();
    this.armTimer();
    return undefined;
  }

  /**
   * The rows of all records in [from, to), as soon as they are read. Rejects when the source is
   * closed.
   */
  async rows(from: number, to: number): Promise<readonly EventRow[]> {
    const records = await new Promise<readonly ReadyRecord[]>((resolve, reject) => {
      this.waiters.push({ from, to, resolve, reject });
      this.serve();
      this.lookAgain();
    });
    const rows: EventRow[] = [];
    for (const [count, record] of records.entries()) {
      if (count > 0 && count % sliceRecords === 0) await this.turn();
      rows.push(...rowsOf(record).map((row) => this.named(row)));
    }
    return rows;
  }

  private named(row: EventRow): EventRow {
    const topic = this.parts.storedAs;
    return row.topic === topic ? row : { ...row, topic };
  }

  /** Lets others have their turn. */
  private turn(): Promise<void> {
    return new Promise((resolve) => {
      this.parts.clock.after(0, resolve);
    });
  }

  /** Sessions that failed in [from, to), as far as it is read and not released. */
  failed(from: number, to: number): readonly FailedSession[] {
    return failedIn(this.name, this.ready.range(from, to), (offset) =>
      this.placeAtOrBefore(offset),
    );
  }

  /** The acceptance state of the newest known place that is not after the offset. */
  placeAtOrBefore(offset: number): { offset: number; acceptance: AcceptanceState } {
    this.history.add(this.expected, this.fold.acceptance);
    return this.history.atOrBefore(offset);
  }

  close(): void {
    this.closed = true;
    this.timer.cancel();
    this.parts.reading.unassign(this.name);
    this.queue.length = 0;
    this.parts.budget.hold(this, { rows: 0, bytes: 0 });
    const gone = new LongreinError('SOURCE_CLOSED', `${this.text} is not read here any more`, {
      retryable: true,
    });
    for (const waiter of this.waiters.splice(0)) waiter.reject(gone);
  }

  /** Pauses or resumes the reader by what is held. */
  lookAgain(): void {
    if (this.closed) return;
    const pause = this.isFull();
    if (pause === this.paused) return;
    this.paused = pause;
    if (pause) this.parts.reading.pause(this.name);
    else this.parts.reading.resume(this.name);
  }

  private isFull(): boolean {
    const { length } = this.queue;
    if (length > queueMax || this.queueBytes > rangeBytesMax) return true;
    if (this.paused && length > queueMax / 5) return true;
    if (this.waiters.some(({ to }) => to > this.expected)) return false;
    const { rows, bytes } = this.ready;
    if (rows > 2 * rangeRowsMax || bytes > 2 * rangeBytesMax) return true;
    return rows > 0 && this.parts.budget.isOver;
  }

  private get text(): string {
    return `${this.name.topic}/${this.name.partition}`;
  }

  private pump(): void {
    if (this.pumping || this.closed || this.queue.length === 0) return;
    this.pumping = true;
    this.parts.clock.after(0, () => {
      this.pumping = false;
      if (this.closed) return;
      try {
        this.slice();
      } catch (thrown) {
        this.parts.onBroken(toError(thrown));
        return;
      }
      this.pump();
    });
  }

  private slice(): void {
    const nowMs = this.parts.clock.nowMs();
    for (const record of this.queue.splice(0, sliceRecords)) {
      this.queueBytes -= record.value?.length ?? 0;
      if (record.offset >= this.expected) this.judge(record, nowMs);
    }
    this.account();
    this.lookAgain();
    this.serve();
    this.arm();
  }

  private judge(record: LogRecord, nowMs: number): void {
    const { offset } = record;
    if (this.gapless && offset !== this.expected) throw this.gap(offset);
    const decoded = decodeRecord(record);
    const judgement = this.fold.judge(decoded);
    this.expected = offset + 1;
    if (offset < this.next) return;
    const rows = countRows(decoded, judgement);
    const bytes = bytesOf(record, rows);
    const needFrom = this.fold.needFrom(this.expected);
    const judged = { log: record, header: decoded.header, judgement };
    this.ready.push({ ...judged, rows, bytes, readyAtMs: nowMs, needFrom });
  }

  private gap(offset: number): LongreinError {
    const message = `${this.text}: records are missing from ${this.expected} to ${offset}`;
    const fix = 'restore the topic from a replica or a backup, then start again';
    return new LongreinError('LOG_GAP', message, { fix });
  }

  private account(): void {
    this.parts.budget.hold(this, { rows: this.ready.rows, bytes: this.ready.bytes });
  }

  private serve(): void {
    const served = this.waiters.filter(({ to }) => to <= this.expected);
    if (served.length === 0) return;
    this.waiters = this.waiters.filter(({ to }) => to > this.expected);
    for (const { from, to, resolve } of served) resolve(this.ready.range(from, to));
  }

  /**
   * Tells when enough has come, once until somebody looks; else when the oldest has waited long
   * enough.
   */
  private arm(): void {
    if (this.told) return;
    if (this.ready.rows >= rowsEnough) this.tell();
    else this.armTimer();
  }

  private armTimer(): void {
    const { oldest, hasEnd } = this.ready;
    if (oldest !== undefined) this.timer.by(oldest.readyAtMs + this.parts.waitMs(hasEnd));
  }

  private tell(): void {
    if (this.closed || this.ready.oldest === undefined) return;
    this.told = true;
    this.parts.onDue();
  }
}
