/**
 * The body of a produce request (versions 3 to 7: they are alike) with record batches of format 2. Ours, because kafkajs's
 * encoder makes an object and several buffers of every header: a tenth of what a busy host did.
 * Source: the layout of `DefaultRecordBatch` and `DefaultRecord` in the protocol guide of Apache Kafka.
 */
import type { OutgoingRecord, PartitionName } from '../port.ts';
import { ByteWriter } from './byte-writer.ts';
import { internals } from './internals.ts';

const MAGIC = 2;
const NONE = -1;
const NO_ATTRIBUTES = 0;

export type Append = Readonly<{ partition: PartitionName; records: readonly OutgoingRecord[] }>;
export type ProduceTerms = Readonly<{ acks: number; timeoutMs: number; nowMs: number }>;

/** Each append becomes one batch; there is at most one of a partition. */
export function produceBody(appends: readonly Append[], terms: ProduceTerms): Buffer {
  const into = new ByteWriter();
  into.int16(NONE); // no transaction
  into.int16(terms.acks);
  into.int32(terms.timeoutMs);
  const topics = byTopic(appends);
  into.int32(topics.size);
  for (const [topic, ofTopic] of topics) {
    into.string(topic);
    into.int32(ofTopic.length);
    for (const { partition, records } of ofTopic) {
      into.int32(partition.partition);
      const lengthAt = into.position;
      into.int32(0);
      writeBatch(into, records, terms.nowMs);
      into.int32At(lengthAt, into.position - lengthAt - 4);
    }
  }
  return into.written;
}

function byTopic(appends: readonly Append[]): ReadonlyMap<string, readonly Append[]> {
  const topics = new Map<string, Append[]>();
  for (const append of appends) {
    const { topic } = append.partition;
    const known = topics.get(topic);
    if (known === undefined) topics.set(topic, [append]);
    else known.push(append);
  }
  return topics;
}

function writeBatch(into: ByteWriter, records: readonly OutgoingRecord[], nowMs: number): void {
  into.int64(0); // the broker gives the first offset
  const lengthAt = into.position;
  into.int32(0);
  into.int32(0); // leader epoch
  into.int8(MAGIC);
  const sumAt = into.position;
  into.int32(0);
  const summedFrom = into.position;
  into.int16(NO_ATTRIBUTES);
  into.int32(records.length - 1);
  into.int64(nowMs);
  into.int64(nowMs);
  into.int64(NONE); // producer id, epoch and sequence: not idempotent
  into.int16(0);
  into.int32(0);
  into.int32(records.length);
  const record = new ByteWriter();
  for (const [index, one] of records.entries()) {
    record.clear();
    writeRecord(record, one, index);
    into.varBytes(record.written);
  }
  into.int32At(lengthAt, into.position - lengthAt - 4);
  into.int32At(sumAt, internals.crc32C(into.from(summedFrom)));
}

function writeRecord(into: ByteWriter, { key, value, headers }: OutgoingRecord, index: number) {
  into.int8(NO_ATTRIBUTES);
  into.varint(0); // milliseconds after the first one
  into.varint(index);
  into.varString(key);
  into.varBytes(value);
  const entries = Object.entries(headers);
  into.varint(entries.length);
  for (const [name, text] of entries) {
    into.varString(name);
    into.varString(text);
  }
}
