import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import {
  decodeRecords,
  recordsIn,
} from '../../../../../../services/chassis/log/kafka/record-batch.ts';

const partition = { topic: 'topic', partition: 3 };
const GZIP = 1;
const LZ4 = 3;
const APPEND_TIME = 8;
const CONTROL = 32;

type RecordSpec = {
  delta: number;
  key?: string | null;
  value?: string | null;
  headers?: [string, string | null][];
};

type BatchSpec = {
  base: number;
  lastDelta?: number;
  attributes?: number;
  magic?: number;
  records: RecordSpec[];
};

function varint(value: number): Buffer {
  let rest = BigInt.asUintN(64, (BigInt(value) << 1n) ^ (BigInt(value) >> 63n));
  const bytes: number[] = [];
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return Buffer.from([...bytes, Number(rest)]);
}

function sized(text: string | null | undefined): Buffer {
  if (text === null || text === undefined) return varint(-1);
  const bytes = Buffer.from(text);
  return Buffer.concat([varint(bytes.length), bytes]);
}

function recordBytes({ delta, key, value, headers = [] }: RecordSpec): Buffer {
  const parts = [Buffer.from([0]), varint(delta * 10), varint(delta), sized(key), sized(value)];
  const heads = headers.flatMap(([name, text]) => [sized(name), sized(text)]);
  const body = Buffer.concat([...parts, varint(headers.length), ...heads]);
  return Buffer.concat([varint(body.length), body]);
}

function batch(spec: BatchSpec): Buffer {
  const attributes = spec.attributes ?? 0;
  const plain = Buffer.concat(spec.records.map(recordBytes));
  const records = (attributes & 7) === GZIP ? gzipSync(plain) : plain;
  const head = Buffer.alloc(61);
  head.writeBigInt64BE(BigInt(spec.base), 0);
  head.writeInt32BE(49 + records.length, 8);
  head.writeInt8(spec.magic ?? 2, 16);
  head.writeInt16BE(attributes, 21);
  head.writeInt32BE(spec.lastDelta ?? spec.records.length - 1, 23);
  head.writeBigInt64BE(1_700_000_000_000n, 27);
  head.writeBigInt64BE(1_700_000_009_000n, 35);
  head.writeInt32BE(spec.records.length, 57);
  return Buffer.concat([head, records]);
}

describe('decodeRecords', () => {
  test('reads records with keys, headers, values and times', () => {
    const headers: [string, string | null][] = [
      ['a', '1'],
      ['ü', '🐴'],
      ['a', '2'],
      ['none', null],
      ['__proto__', 'x'],
    ];
    const bytes = batch({
      base: 40,
      records: [{ delta: 0, key: 'k', value: 'v', headers }, { delta: 1 }],
    });
    const { records, nextOffset } = decodeRecords(partition, bytes, 40);
    expect(nextOffset).toBe(42);
    expect(records).toEqual([
      {
        ...partition,
        offset: 40,
        key: 'k',
        headers: { a: '2', ü: '🐴', none: '' },
        value: Buffer.from('v'),
        timestampMs: 1_700_000_000_000,
      },
      {
        ...partition,
        offset: 41,
        key: '',
        headers: {},
        value: null,
        timestampMs: 1_700_000_000_010,
      },
    ]);
  });

  test('skips what lies below the wanted offset, and a batch that is cut off', () => {
    const whole = batch({ base: 10, records: [0, 1, 2, 3].map((delta) => ({ delta })) });
    const cut = batch({ base: 14, records: [{ delta: 0, value: 'long enough to be cut' }] });
    for (const part of [cut.subarray(0, cut.length - 1), cut.subarray(0, 11)]) {
      const { records, nextOffset } = decodeRecords(partition, Buffer.concat([whole, part]), 12);
      expect(records.map(({ offset }) => offset)).toEqual([12, 13]);
      expect(nextOffset).toBe(14);
    }
  });

  test('steps over batches without records and over control batches', () => {
    const bytes = Buffer.concat([
      batch({ base: 0, lastDelta: 4, records: [] }),
      batch({ base: 5, attributes: CONTROL, records: [{ delta: 0, key: 'commit' }] }),
      batch({ base: 6, lastDelta: 9, records: [{ delta: 2 }, { delta: 7 }] }),
    ]);
    const { records, nextOffset } = decodeRecords(partition, bytes, 0);
    expect(records.map(({ offset }) => offset)).toEqual([8, 13]);
    expect(nextOffset).toBe(16);
  });

  test('reads offsets and times beyond 32 bits', () => {
    const base = 2 ** 40 + 7;
    const bytes = batch({ base, attributes: APPEND_TIME, records: [{ delta: 0 }] });
    const { records } = decodeRecords(partition, bytes, 0);
    expect(records[0]).toMatchObject({ offset: base, timestampMs: 1_700_000_009_000 });
  });

  test('unpacks gzip, and names a compression that it lacks', () => {
    const records = [{ delta: 0, value: 'v'.repeat(5_000) }];
    const packed = batch({ base: 0, attributes: GZIP, records });
    expect(decodeRecords(partition, packed, 0).records[0]?.value).toHaveLength(5_000);
    const foreign = batch({ base: 7, attributes: LZ4, records });
    expect(() => decodeRecords(partition, foreign, 7)).toThrow(/topic\/3, offset 7.*lz4/);
    const old = batch({ base: 7, magic: 1, records });
    expect(() => decodeRecords(partition, old, 7)).toThrow(/message format 1/);
  });

  test('copies values, so that one small value does not keep a whole answer', () => {
    const bytes = batch({ base: 0, records: [{ delta: 0, value: 'v'.repeat(10_000) }] });
    const { records } = decodeRecords(partition, bytes, 0);
    bytes.fill(0);
    expect(Buffer.from(records[0]?.value ?? []).toString()).toBe('v'.repeat(10_000));
  });
});

describe('what the reader knows already', () => {
  const two = [{ delta: 0 }, { delta: 1 }];

  test('is not even unpacked', () => {
    const packed = batch({ base: 0, attributes: LZ4, records: two });
    const bytes = Buffer.concat([packed, batch({ base: 2, records: two })]);
    const { records, nextOffset } = decodeRecords(partition, bytes, 2);
    expect(records.map(({ offset }) => offset)).toEqual([2, 3]);
    expect(nextOffset).toBe(4);
    expect(() => decodeRecords(partition, bytes, 1)).toThrow('lz4');
  });

  test('counts as what came', () => {
    const bytes = Buffer.concat([
      batch({ base: 0, records: two }),
      batch({ base: 2, records: two }),
    ]);
    expect(recordsIn(bytes)).toBe(4);
    expect(recordsIn(bytes.subarray(0, bytes.length - 1))).toBe(4);
    expect(recordsIn(bytes.subarray(0, 40))).toBe(0);
    expect(recordsIn(Buffer.alloc(0))).toBe(0);
  });
});
