import { createRequire } from 'node:module';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { murmur2, partitionOf } from '../../../../../services/chassis/log/partition.ts';

const load = createRequire(import.meta.url);
const kafkajsMurmur2: (key: Buffer) => number = load(
  'kafkajs/src/producer/partitioners/default/murmur2',
);

describe('partitionOf', () => {
  test.each([
    ['21', -973_932_308],
    ['foobar', -790_332_482],
    ['a-little-bit-long-string', -985_981_536],
    ['a-little-bit-longer-string', -1_486_304_829],
    ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58_897_971],
    ['abc', 479_470_107],
  ])('hashes %s as Kafka does', (key, hash) => {
    expect(murmur2(Buffer.from(key))).toBe(hash);
  });

  test('hashes any bytes as the client library does', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 70 }), (bytes) => {
        expect(murmur2(bytes)).toBe(kafkajsMurmur2(Buffer.from(bytes)));
      }),
      { numRuns: 2_000 },
    );
  });

  test('gives the partition that the client library gives', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme' }),
        fc.integer({ min: 1, max: 128 }),
        (key, count) => {
          const expected = (kafkajsMurmur2(Buffer.from(key, 'utf8')) & 0x7fffffff) % count;
          expect(partitionOf(key, count)).toBe(expected);
        },
      ),
    );
  });
});
