/**
 * Decodes the record batches (format 2) of one partition. Ours, because kafkajs's decoder says
 * nothing of a batch whose records were all compacted away, so that a reader would stand before it
 * for ever, fails the whole answer at one batch that it cannot decompress, and hands out views that
 * pin the answer in memory.
 */
import { gunzipSync } from 'node:zlib';
import { LongreinError } from '../../errors.ts';
import type { LogRecord, PartitionName } from '../port.ts';
import { ByteReader } from './byte-reader.ts';

const LENGTH_END = 12;
/** Places in what follows the length. */
const LAST_DELTA_AT = 11;
const RECORD_COUNT_AT = 45;
const MAGIC = 2;
const COMPRESSION_MASK = 0x07;
const APPEND_TIME_MASK = 0x08;
const CONTROL_MASK = 0x20;
const GZIP = 1;
const UNPACKED_BYTES_MAX = 128 * 1024 * 1024;
const COMPRESSIONS = ['none', 'gzip', 'snappy', 'lz4', 'zstd'];

/** The records from the wanted offset on, and the offset to ask for next. */
export type DecodedRecords = Readonly<{ records: readonly LogRecord[]; nextOffset: number }>;

type Batch = Readonly<{
  baseOffset: number;
  attributes: number;
  lastOffsetDelta: number;
  firstTimestampMs: number;
  maxTimestampMs: number;
  records: ByteReader;
  recordCount: number;
}>;

/**
 * Decodes what a broker returned for a fetch at `fromOffset`. Batches may begin earlier and the
 * last one may be cut off: both are normal. Throws `RECORDS_UNREADABLE` for formats and
 * compressions that we lack.
 */
export function decodeRecords(
  partition: PartitionName,
  bytes: Buffer,
  fromOffset: number,
): DecodedRecords {
  const reader = new ByteReader(bytes);
  const records: LogRecord[] = [];
  let nextOffset = fromOffset;
  while (reader.left >= LENGTH_END) {
    const baseOffset = reader.int64();
    const length = reader.int32();
    if (length > reader.left) break;
    if (lastOffsetOf(bytes, bytes.length - reader.left, baseOffset) < fromOffset) {
      reader.skip(length);
      continue;
    }
    const batch = readBatch(partition, baseOffset, reader.slice(length));
    const isControl = (batch.attributes & CONTROL_MASK) !== 0;
    if (!isControl) readRecords(partition, batch, { fromOffset, records });
    nextOffset = Math.max(nextOffset, baseOffset + batch.lastOffsetDelta + 1);
  }
  return { records, nextOffset };
}

/** Where `body` is what follows the length of a batch. */
function lastOffsetOf(bytes: Buffer, body: number, baseOffset: number): number {
  const isKnownFormat = bytes.length >= body + LAST_DELTA_AT + 4 && bytes[body + 4] === MAGIC;
  return isKnownFormat ? baseOffset + bytes.readInt32BE(body + LAST_DELTA_AT) : baseOffset;
}

/** How many records whole batches of the broker's answer hold, by their heads. */
export function recordsIn(bytes: Buffer): number {
  let records = 0;
  for (let at = 0; at + LENGTH_END + RECORD_COUNT_AT + 4 <= bytes.length; ) {
    records += bytes.readInt32BE(at + LENGTH_END + RECORD_COUNT_AT);
    at += LENGTH_END + Math.max(1, bytes.readInt32BE(at + LENGTH_END - 4));
  }
  return records;
}

function readBatch(partition: PartitionName, baseOffset: number, bytes: Buffer): Batch {
  const reader = new ByteReader(bytes);
  reader.skip(4); // leader epoch
  const magic = reader.int8();
  if (magic !== MAGIC) throw unreadable(partition, baseOffset, `message format ${magic}`);
  reader.skip(4); // checksum: the broker and TCP have their own
  const attributes = reader.int16();
  const lastOffsetDelta = reader.int32();
  const firstTimestampMs = reader.int64();
  const maxTimestampMs = reader.int64();
  reader.skip(14); // producer id, epoch and sequence
  const recordCount = reader.int32();
  const compression = attributes & COMPRESSION_MASK;
  const records = unpack(partition, baseOffset, { compression, bytes: reader.slice(reader.left) });
  return {
    baseOffset,
    attributes,
    lastOffsetDelta,
    firstTimestampMs,
    maxTimestampMs,
    recordCount,
    records: new ByteReader(records),
  };
}

function unpack(
  partition: PartitionName,
  baseOffset: number,
  packed: { compression: number; bytes: Buffer },
): Buffer {
  if (packed.compression === 0) return packed.bytes;
  if (packed.compression === GZIP) {
    return gunzipSync(packed.bytes, { maxOutputLength: UNPACKED_BYTES_MAX });
  }
  const name = COMPRESSIONS[packed.compression] ?? `number ${packed.compression}`;
  throw unreadable(partition, baseOffset, `compression ${name}`);
}

function readRecords(
  partition: PartitionName,
  batch: Batch,
  into: { fromOffset: number; records: LogRecord[] },
): void {
  for (let index = 0; index < batch.recordCount; index++) {
    const record = readRecord(partition, batch);
    if (record.offset >= into.fromOffset) into.records.push(record);
  }
}

function readRecord({ topic, partition }: PartitionName, batch: Batch): LogRecord {
  const reader = batch.records;
  reader.varint(); // length
  reader.skip(1); // attributes
  const timestampDeltaMs = reader.varint();
  const offset = batch.baseOffset + reader.varint();
  const key = reader.varBytes()?.toString('utf8') ?? '';
  const value = reader.varBytes();
  const headers = readHeaders(reader);
  const appendTime = (batch.attributes & APPEND_TIME_MASK) !== 0;
  const timestampMs = appendTime ? batch.maxTimestampMs : batch.firstTimestampMs + timestampDeltaMs;
  const copy = value === null ? null : Buffer.from(value);
  return { topic, partition, offset, key, headers, value: copy, timestampMs };
}

/** Of a header that is there twice the last one counts. */
function readHeaders(reader: ByteReader): Record<string, string> {
  const count = reader.varint();
  const headers: Record<string, string> = {};
  for (let index = 0; index < count; index++) {
    const name = reader.varBytes()?.toString('utf8') ?? '';
    const value = reader.varBytes()?.toString('utf8') ?? '';
    // Assigning to this name would set a prototype instead of a header.
    if (name !== '__proto__') headers[name] = value;
  }
  return headers;
}

function unreadable(
  { topic, partition }: PartitionName,
  offset: number,
  what: string,
): LongreinError {
  return new LongreinError(
    'RECORDS_UNREADABLE',
    `The records at ${topic}/${partition}, offset ${offset}, have ${what}, which cannot be read.`,
    { fix: `Set compression.type=gzip on ${topic}, so that the broker repacks what others send.` },
  );
}
