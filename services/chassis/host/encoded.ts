import type { OutgoingRecord } from '../log/port.ts';
import { type PlacedRecord, parseHeader, type RecordBody } from '../protocol/record.ts';

const recordOverheadBytes = 32;

/** A record with its bytes; the header is parsed after numbering, from the very headers that were sent. */
export class Encoded {
  readonly record: OutgoingRecord;
  readonly body: RecordBody | undefined;

  constructor(record: OutgoingRecord, body: RecordBody | undefined) {
    this.record = record;
    this.body = body;
  }

  /** What the broker counts, and a little more. */
  get bytes(): number {
    const { key, headers, value } = this.record;
    let bytes = recordOverheadBytes + key.length + (value?.length ?? 0);
    for (const [name, text] of Object.entries(headers)) bytes += name.length + text.length + 4;
    return bytes;
  }

  header(): PlacedRecord['header'] {
    const header = parseHeader(this.record.headers);
    if (header === undefined) throw new Error('a record of ours has no kind');
    return header;
  }
}
