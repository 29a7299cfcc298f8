import { createRequire } from 'node:module';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ByteReader } from '../../../../../../services/chassis/log/kafka/byte-reader.ts';
import { ByteWriter } from '../../../../../../services/chassis/log/kafka/byte-writer.ts';
import {
  type Append,
  produceBody,
} from '../../../../../../services/chassis/log/kafka/produce-body.ts';

type Encoded = Readonly<{ encode(): Promise<Readonly<{ buffer: Buffer }>> }>;
const load = createRequire(import.meta.url);
const requestOfKafkajs: (args: object) => Encoded = load(
  'kafkajs/src/protocol/requests/produce/v7/request',
);

const nowMs = 1_796_000_000_123;

beforeEach(() => {
  vi.useFakeTimers({ now: nowMs, toFake: ['Date'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** What the client library makes of the same appends. */
async function byKafkajs(appends: readonly Append[]): Promise<Buffer> {
  const topics = [...new Set(appends.map(({ partition }) => partition.topic))];
  const topicData = topics.map((topic) => ({
    topic,
    partitions: appends
      .filter(({ partition }) => partition.topic === topic)
      .map(({ partition, records }) => ({
        partition: partition.partition,
        messages: records.map(({ key, headers, value }) => ({
          ...{ key, headers, value: value === null ? null : Buffer.from(value) },
        })),
      })),
  }));
  return (await requestOfKafkajs({ acks: -1, timeout: 10_000, topicData }).encode()).buffer;
}

const header = fc.string({ unit: 'binary', maxLength: 80 });
const record = fc.record({
  key: fc.string({ unit: 'grapheme', maxLength: 100 }),
  headers: fc.dictionary(fc.string({ minLength: 1, maxLength: 70 }), header, { maxKeys: 6 }),
  value: fc.option(fc.uint8Array({ maxLength: 300 })),
});
const append = fc.record({
  partition: fc.record({
    topic: fc.constantFrom('longrein.sessions.high', 'longrein.keys'),
    partition: fc.nat({ max: 70_000 }),
  }),
  records: fc.array(record, { minLength: 1, maxLength: 5 }),
});

test('the body of a request is, byte for byte, what the client library makes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(append, { minLength: 1, maxLength: 4 }), async (appends) => {
      const body = produceBody(appends, { acks: -1, timeoutMs: 10_000, nowMs });
      expect(body.equals(await byKafkajs(appends))).toBe(true);
    }),
    { numRuns: 200 },
  );
});

test('many and large records too', async () => {
  const value = new Uint8Array(700_000).fill(7);
  const records = Array.from({ length: 20 }, (_, at) => ({ key: `${at}`, headers: {}, value }));
  const appends = [{ partition: { topic: 'longrein.keys', partition: 3 }, records }];
  const body = produceBody(appends, { acks: -1, timeoutMs: 10_000, nowMs });
  expect(body.equals(await byKafkajs(appends))).toBe(true);
});

test('numbers come back as they were written', () => {
  const number = fc.integer({ min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER });
  const small = fc.integer({ min: -(2 ** 51), max: 2 ** 51 });
  fc.assert(
    fc.property(number, small, (long, short) => {
      const writer = new ByteWriter();
      writer.int64(long);
      writer.varint(short);
      const reader = new ByteReader(writer.written);
      expect([reader.int64(), reader.varint(), reader.left]).toEqual([long, short, 0]);
    }),
  );
});
