import { LongreinError } from '../errors.ts';
import type { LogRecord, PartitionName, Reader } from '../log/port.ts';
import { type AcceptanceState, accept } from '../protocol/acceptance.ts';
import {
  isNewerKind,
  type PlacedRecord,
  parseHeader,
  type RecordBody,
  type RecordHeader,
  type Refused,
} from '../protocol/record.ts';
import { AcceptanceHistory } from './acceptance-history.ts';
import { foreignCode } from './ignored-records.ts';
import type { Turn } from './lane-turns.ts';
import type { HostPorts } from './ports.ts';
import { readBodyPatiently } from './read-body.ts';
import { isPlaced, type Queued, RecordQueue } from './record-queue.ts';

/** A record as read, in its place; without a body where nobody here needs it or nobody can read it. */
export type ReadRecord = Omit<PlacedRecord, 'body'> & Readonly<{ body?: RecordBody }>;

export type PartitionLogParts = Readonly<{
  partition: PartitionName;
  ports: HostPorts;
  reading: Pick<Reader, 'pause' | 'resume' | 'skip'>;
  /** Asked before each record is taken. */
  turn?: Turn;
  /** Bodies that nobody here would look at are not decoded. */
  wantsBody(header: RecordHeader): boolean;
  /** The next record of the log, and whether acceptance counts it. */
  onRecord(record: ReadRecord, accepted: boolean): void;
  /** A record was taken; the position moved. */
  onTaken(): void;
  onHalt(error: LongreinError): void;
  /** A record that every reader ignores, and why. */
  onIgnored?(record: LogRecord, reason: Refused): void;
}>;

/**
 * What a host reads of one partition, in order, with acceptance decided (DESIGN 3, the first step of the rule).
 * Nothing here knows sessions.
 */
export class PartitionLog {
  readonly acceptance: AcceptanceState;
  readonly history: AcceptanceHistory;
  private readonly parts: PartitionLogParts;
  private readonly queue: RecordQueue;
  /** The high offset when the group gave us the partition: what stands below was there before us. */
  private end: number;
  private foreign = 0;
  /** Where what this host has written ends, as acknowledged. */
  private writtenTo = 0;

  constructor(
    parts: PartitionLogParts,
    start: { offset: number; acceptance: AcceptanceState; high: number },
  ) {
    this.parts = parts;
    this.end = start.high;
    this.acceptance = start.acceptance;
    this.history = new AcceptanceHistory(start.offset, start.acceptance);
    this.queue = new RecordQueue(start.offset, {
      partition: parts.partition,
      reading: parts.reading,
      process: (record) => this.process(record),
      turn: parts.turn,
      onTaken: () => parts.onTaken(),
      onHalt: (error) => parts.onHalt(error),
    });
  }

  /** Offset of the next record to ask the reader for. */
  get position(): number {
    return this.queue.position;
  }

  /** Offset of the next record to take. */
  get expected(): number {
    return this.queue.expected;
  }

  get caughtUp(): boolean {
    return this.queue.expected >= this.end;
  }

  /**
   * Nothing is on its way in. What this host wrote is, until it has been read back: a claim that counts is carried out by
   * nobody else (DESIGN 3.9).
   */
  get empty(): boolean {
    return this.queue.empty && this.queue.expected >= this.writtenTo;
  }

  /** So many records, at least, of what this host wrote last have not come back, though nothing waits to be taken. */
  get unread(): number {
    return this.queue.empty ? Math.max(0, this.writtenTo - this.queue.expected) : 0;
  }

  get halted(): boolean {
    return this.queue.halted;
  }

  /** Stops taking records, and says why. */
  halt(error: Error): void {
    this.queue.halt(error);
  }

  /** Whether a record was there before the group gave us the partition. */
  wasThere(offset: number): boolean {
    return offset < this.end;
  }

  /** The partition was given to us again: what was appended meanwhile counts as there before us. */
  raiseEnd(high: number): void {
    this.end = Math.max(this.end, high);
  }

  /** Records from the reader. */
  take(records: readonly LogRecord[]): void {
    this.queue.push(records);
  }

  /** Records of our own, as acknowledged: taken at once if nothing lies between (the short cut). */
  takeOwn(records: readonly PlacedRecord[]): void {
    this.writtenTo = Math.max(this.writtenTo, (records.at(-1)?.offset ?? -1) + 1);
    this.queue.pushOwn(records);
  }

  private process(record: Queued): Promise<void> | undefined {
    if (!isPlaced(record)) return this.processRead(record);
    this.parts.onRecord(record, accept(this.acceptance, record.header));
    return undefined;
  }

  private async processRead(record: LogRecord): Promise<void> {
    const header = parseHeader(record.headers);
    if (header === undefined) {
      if (isNewerKind(record.headers)) throw newerKind(record);
      this.noteForeign(record);
      return;
    }
    const placed = { offset: record.offset, header };
    const wanted = this.parts.wantsBody(header);
    const ignored = (reason: Refused): void => this.parts.onIgnored?.(record, reason);
    const body = wanted ? await readBodyPatiently(record, this.parts.ports, ignored) : undefined;
    const read = body === undefined ? placed : { ...placed, body };
    this.parts.onRecord(read, accept(this.acceptance, header));
  }

  private noteForeign(record: LogRecord): void {
    const { offset } = record;
    const message = 'the headers are not those of a record of a session log';
    this.parts.onIgnored?.(record, { code: foreignCode, message });
    if (this.foreign++ > 0) return;
    const { partition, ports } = this.parts;
    ports.logger.warn({ ...partition, offset }, 'record of another program ignored');
  }
}

/** What such a record means for acceptance is not known: nothing that follows can be judged. */
function newerKind({ topic, partition, offset, headers }: LogRecord): LongreinError {
  const kind = headers['lr_kind'];
  const message = `${topic}/${partition}: record ${offset} is a ${kind}, which only a newer release knows`;
  return new LongreinError('NEWER_RELEASE', message, {
    fix: 'start the newer release, and let it have this partition; this one stands by',
  });
}
