import type { EventRow } from './row.ts';

/** One record, read and judged, that waits to be stored. */
export type ReadyRecord = Readonly<{
  offset: number;
  rows: readonly EventRow[];
  /** About what the rows take in memory and on the wire. */
  bytes: number;
  readyAtMs: number;
  /** When the log got it. */
  loggedAtMs: number;
  /** Where reading would have to start for all after this record. */
  needFrom: number;
}>;

/** The largest range that may be fixed now. */
export type Cut = Readonly<{ cut: number; rows: number; needFrom: number; readyAtMs: number }>;

/** What one insert holds at most, unless a single record is larger. */
export const rangeRowsMax = 20_000;
export const rangeBytesMax = 16 * 1024 * 1024;

const compactAt = 4_096;

/** Records of one partition that are read and not known to be stored, in the order of the log. */
export class ReadyRows {
  rows = 0;
  bytes = 0;
  private records: ReadyRecord[] = [];
  private head = 0;

  push(record: ReadyRecord): void {
    this.records.push(record);
    this.rows += record.rows.length;
    this.bytes += record.bytes;
  }

  get oldest(): ReadyRecord | undefined {
    return this.records[this.head];
  }

  /** Forgets what lies below the offset. */
  release(next: number): void {
    for (let record = this.oldest; record !== undefined && record.offset < next; ) {
      this.rows -= record.rows.length;
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
      rows += record.rows.length;
      bytes += record.bytes;
      if (record !== first && (rows > rangeRowsMax || bytes > rangeBytesMax)) {
        rows -= record.rows.length;
        break;
      }
      last = record;
    }
    return { cut: last.offset + 1, rows, needFrom: last.needFrom, readyAtMs: first.readyAtMs };
  }

  /** The rows of the records in [from, to). */
  range(from: number, to: number): readonly EventRow[] {
    const rows: EventRow[] = [];
    for (let index = this.head; index < this.records.length; index += 1) {
      const record = this.records[index] as ReadyRecord;
      if (record.offset >= to) break;
      if (record.offset >= from) rows.push(...record.rows);
    }
    return rows;
  }
}

const rowOverheadBytes = 600;

/** About the bytes of a row: its texts, and something for the rest. */
export const bytesOf = (rows: readonly EventRow[]): number =>
  rows.reduce(
    (sum, { data, content, record }) =>
      sum + data.length + content.length + record.length + rowOverheadBytes,
    0,
  );
