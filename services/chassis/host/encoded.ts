import type { OutgoingRecord } from '../log/port.ts';
import type { RecordBody, RecordHeader } from '../protocol/record.ts';

const recordOverheadBytes = 32;

/** A record with its bytes, and its header as reading it would give it, once it is numbered. */
export class Encoded {
  readonly record: OutgoingRecord;
  readonly body: RecordBody | undefined;
  private readonly unnumbered: RecordHeader | undefined;

  constructor(record: OutgoingRecord, own?: Readonly<{ body: RecordBody; header: RecordHeader }>) {
    this.record = record;
    this.body = own?.body;
    this.unnumbered = own?.header;
  }

  /** What the broker counts, and a little more. */
  get bytes(): number {
    const { key, headers, value } = this.record;
    let bytes = recordOverheadBytes + key.length + (value?.length ?? 0);
    for (const [name, text] of Object.entries(headers)) bytes += name.length + text.length + 4;
    return bytes;
  }

  header(): RecordHeader {
    const { unnumbered } = this;
    if (unnumbered === undefined) throw new Error('a message that is no record has no header');
    const sequence = this.record.headers['lr_sequence'];
    return sequence === undefined ? unnumbered : { ...unnumbered, sequence: Number(sequence) };
  }
}
