import type { LogRecord } from '../chassis/log/port.ts';
import type { JudgedRecord } from './judged-record.ts';

/**
 * One record, read and judged, that waits to be stored. Its rows are made when they are written: as
 * bytes it takes a fraction of the memory.
 */
export type ReadyRecord = JudgedRecord &
  Readonly<{
    rows: number;
    /** About what the rows take on the wire. */
    bytes: number;
    readyAtMs: number;
    /** Where reading would have to start for all after this record. */
    needFrom: number;
  }>;

/** The largest range that may be fixed now. */
export type Cut = Readonly<{ cut: number; rows: number; needFrom: number; readyAtMs: number }>;

/**
 * What one insert holds at most, unless a single record is larger. More rows are hardly written
 * faster, and making and encoding them holds up everything else in the process.
 */
export const rangeRowsMax = 4_000;
export const rangeBytesMax = 8 * 1024 * 1024;

const compactAt = 4_096;

/** Records of one partition that are read and not known to be stored, in the order of the log. */
export class ReadyRows {
  rows = 0;
  bytes = 0;
  private records: ReadyRecord[] = [];
  private head = 0;
  /** Offset of the newest record that ended a session. */
  private endAt = -1;

  /** The end of a session is among them. */
  get hasEnd(): boolean {
    return (this.oldest?.log.offset ?? Number.POSITIVE_INFINITY) <= this.endAt;
  }

  push(record: ReadyRecord): void {
    this.records.push(record);
    if (record.judgement.ends === true) this.endAt = record.log.offset;
    this.rows += record.rows;
    this.bytes += record.bytes;
  }

  get oldest(): ReadyRecord | undefined {
    return this.records[this.head];
  }

  /** Forgets what lies below the offset. */
  release(next: number): void {
    for (let record = this.oldest; record !== undefined && record.log.offset < next; ) {
      this.rows -= record.rows;
      this.bytes -= record.bytes;
      this.head += 1;
      record = this.oldest;
    }
    if (this.head < compactAt) return;
    this.records = this.records.slice(this.head);
    this.head = 0;
  }

  /** From the oldest record on, whole records only; undefined where there is none. */
  cut(): Cut | undefined {
    const first = this.oldest;
    if (first === undefined) return undefined;
    let rows = 0;
    let bytes = 0;
    let last = first;
    for (let index = this.head; index < this.records.length; index += 1) {
      const record = this.records[index] as ReadyRecord;
      rows += record.rows;
      bytes += record.bytes;
      if (record !== first && (rows > rangeRowsMax || bytes > rangeBytesMax)) {
        rows -= record.rows;
        break;
      }
      last = record;
    }
    return { cut: last.log.offset + 1, rows, needFrom: last.needFrom, readyAtMs: first.readyAtMs };
  }

  /** The records in [from, to). */
  range(from: number, to: number): readonly ReadyRecord[] {
    const found: ReadyRecord[] = [];
    for (let index = this.head; index < this.records.length; index += 1) {
      const record = this.records[index] as ReadyRecord;
      if (record.log.offset >= to) break;
      if (record.log.offset >= from) found.push(record);
    }
    return found;
  }
}

const rowOverheadBytes = 600;

/**
 * About the bytes of a record's rows: its body stands in them twice, once whole and once in parts.
 */
export const bytesOf = (log: LogRecord, rows: number): number =>
  2 * (log.value?.length ?? 0) + rows * rowOverheadBytes;
