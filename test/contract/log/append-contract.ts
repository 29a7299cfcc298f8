/** Appending: order, offsets, what is refused and what is uncertain. */

import { expect, test } from 'vitest';
import { InvariantError } from '../../../services/chassis/errors.ts';
import { AppendError } from '../../../services/chassis/log/append-error.ts';
import type { Bench } from './bench.ts';
import { numbered, ReadWitness, record, text, upTo } from './log-witness.ts';

const BULK_RECORDS = 10_000;
const REQUEST_RECORDS = 500;

async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
}

export function appendContract(bench: Bench): void {
  test('an append returns its first offset, and the next one follows on', async () => {
    const topic = await bench.topic(2);
    const log = bench.connect();
    expect(await log.append({ topic, partition: 1 }, numbered(3))).toEqual({ baseOffset: 0 });
    expect(await log.append({ topic, partition: 1 }, numbered(2))).toEqual({ baseOffset: 3 });
    expect(await log.append({ topic, partition: 0 }, numbered(1))).toEqual({ baseOffset: 0 });
    expect(await log.bounds(topic)).toEqual(
      new Map([
        [0, { low: 0, high: 1 }],
        [1, { low: 0, high: 5 }],
      ]),
    );
  });

  test('records of several writers lie contiguously, each append in one piece', async () => {
    const topic = await bench.topic(1);
    const writers = [bench.connect('a'), bench.connect('b'), bench.connect('c')];
    const bases = await Promise.all(
      writers.map(async (log, writer) => {
        const own: number[] = [];
        for (let round = 0; round < 20; round++) {
          const records = [record(`${writer}:${round}:0`), record(`${writer}:${round}:1`)];
          own.push((await log.append({ topic, partition: 0 }, records)).baseOffset);
        }
        return own;
      }),
    );
    const witness = new ReadWitness();
    const reader = await bench.reader(bench.connect(), witness);
    reader.assign({ topic, partition: 0 }, 0);
    await witness.count(120);
    expect(witness.offsets(0)).toEqual(upTo(120));
    bases.forEach((own, writer) => {
      own.forEach((base, round) => {
        const piece = [witness.records[base], witness.records[base + 1]];
        const seen = piece.map((one) => (one === undefined ? undefined : text(one)));
        expect(seen).toEqual([`${writer}:${round}:0`, `${writer}:${round}:1`]);
      });
    });
  });

  test('appends to many partitions at once all succeed, each at its own offset', async () => {
    const topic = await bench.topic(12);
    const log = bench.connect();
    const rounds = upTo(60).map((index) =>
      log.append({ topic, partition: index % 12 }, [record(String(index))]),
    );
    const bases = (await Promise.all(rounds)).map(({ baseOffset }) => baseOffset);
    expect(bases).toEqual(upTo(60).map((index) => Math.floor(index / 12)));
  });

  test('headers, keys and values come back as they were, unicode or empty', async () => {
    const topic = await bench.topic(1);
    const log = bench.connect();
    const headers = { ce_id: '42', 'ключ 🗝': 'значение — 値 🐴', empty: '' };
    await log.append({ topic, partition: 0 }, [
      { key: 'schlüssel-鍵', headers, value: Buffer.from([0, 255, 128, 10]) },
      { key: '', headers: {}, value: null },
      { key: 'k', headers: {}, value: new Uint8Array(0) },
      { key: 'k', headers: {}, value: new Uint8Array(new ArrayBuffer(8), 2, 3).fill(7) },
    ]);
    const witness = new ReadWitness();
    const reader = await bench.reader(log, witness);
    reader.assign({ topic, partition: 0 }, 0);
    await witness.count(4);
    const seen = witness.records.map(({ key, headers: read, value }) => ({
      key,
      headers: read,
      value: value === null ? null : [...value],
    }));
    expect(seen).toEqual([
      { key: 'schlüssel-鍵', headers, value: [0, 255, 128, 10] },
      { key: '', headers: {}, value: null },
      { key: 'k', headers: {}, value: [] },
      { key: 'k', headers: {}, value: [7, 7, 7] },
    ]);
    const ageMs = Date.now() - (witness.records[0]?.timestampMs ?? 0);
    expect(Math.abs(ageMs)).toBeLessThan(60_000);
  });

  test('an append without records is a mistake of the caller', async () => {
    const topic = await bench.topic(1);
    const thrown = await rejection(bench.connect().append({ topic, partition: 0 }, []));
    expect(thrown).toBeInstanceOf(InvariantError);
  });

  test('an append to an unknown topic or partition is uncertain and may be repeated', async () => {
    const topic = await bench.topic(1);
    const log = bench.connect();
    for (const partition of [
      { topic: bench.freshName(), partition: 0 },
      { topic, partition: 7 },
    ]) {
      const thrown = await rejection(log.append(partition, numbered(1)));
      expect(thrown).toBeInstanceOf(AppendError);
      expect(thrown).toMatchObject({ failure: 'uncertain', retryable: true });
      expect(String(thrown)).toContain(`${partition.topic}/${partition.partition}`);
    }
    expect(await log.append({ topic, partition: 0 }, numbered(1))).toEqual({ baseOffset: 0 });
  });

  test('a record above the limit is refused, and its neighbours in time are not', async () => {
    const topic = await bench.topic(2, { 'max.message.bytes': '20000' });
    const log = bench.connect();
    const large = log.append({ topic, partition: 0 }, [record('x'.repeat(40_000))]);
    const small = log.append({ topic, partition: 1 }, [record('small')]);
    const thrown = await rejection(large);
    expect(thrown).toBeInstanceOf(AppendError);
    expect(thrown).toMatchObject({ failure: 'refused', refusal: 'too-large', retryable: false });
    expect(await small).toEqual({ baseOffset: 0 });
    expect(await log.append({ topic, partition: 0 }, [record('y')])).toEqual({ baseOffset: 0 });
  });

  test('ten thousand records in large requests arrive complete and in order', async () => {
    const topic = await bench.topic(1);
    const log = bench.connect();
    const witness = new ReadWitness();
    const reader = await bench.reader(bench.connect(), witness);
    reader.assign({ topic, partition: 0 }, 0);
    for (let from = 0; from < BULK_RECORDS; from += REQUEST_RECORDS) {
      const { baseOffset } = await log.append(
        { topic, partition: 0 },
        numbered(REQUEST_RECORDS, from),
      );
      expect(baseOffset).toBe(from);
    }
    await witness.count(BULK_RECORDS);
    expect(witness.offsets(0)).toEqual(upTo(BULK_RECORDS));
    expect(witness.records.map(text)).toEqual(upTo(BULK_RECORDS).map(String));
  });
}
