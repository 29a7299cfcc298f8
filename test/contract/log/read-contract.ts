/** Reading: positions, pauses, and errors that are told instead of skipped. */

import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { InvariantError, LongreinError } from '../../../services/chassis/errors.ts';
import type { Bench } from './bench.ts';
import { eventually, numbered, quiet, ReadWitness, record, text, upTo } from './log-witness.ts';

/** Longer than the longest wait of a reader at a broker grows to be. */
const longWaitMs = 4_500;

export function readContract(bench: Bench): void {
  test('a reader begins at the offset that it was given', async () => {
    const topic = await bench.topic(1);
    const log = bench.connect();
    await log.append({ topic, partition: 0 }, numbered(10));
    const witness = new ReadWitness();
    const reader = await bench.reader(log, witness);
    reader.assign({ topic, partition: 0 }, 7);
    await witness.count(3);
    expect(witness.offsets(0)).toEqual([7, 8, 9]);
    expect(witness.records.map(text)).toEqual(['7', '8', '9']);
  });

  test('a reader that waits before there is anything is woken by the first record', async () => {
    const topic = await bench.topic(3);
    const witness = new ReadWitness();
    const reader = await bench.reader(bench.connect(), witness);
    for (const partition of upTo(3)) reader.assign({ topic, partition }, 0);
    await quiet();
    const log = bench.connect();
    await log.append({ topic, partition: 2 }, [record('first')]);
    await witness.count(1);
    await log.append({ topic, partition: 0 }, [record('second')]);
    await witness.count(2);
    expect(witness.records.map(text)).toEqual(['first', 'second']);
    expect(witness.errors).toEqual([]);
  });

  test('a partition that a waiting reader is given, or resumes, is read without delay', async () => {
    const topic = await bench.topic(3);
    const log = bench.connect();
    for (const partition of upTo(3)) await log.append({ topic, partition }, [record('there')]);
    const witness = new ReadWitness();
    const reader = await bench.reader(log, witness);
    reader.assign({ topic, partition: 0 }, 1);
    reader.assign({ topic, partition: 2 }, 0);
    await witness.count(1);
    // By now it waits long for what may come.
    await sleep(longWaitMs);
    const startedMs = performance.now();
    reader.assign({ topic, partition: 1 }, 0);
    await witness.count(2);
    reader.pause({ topic, partition: 0 });
    reader.resume({ topic, partition: 0 });
    await log.append({ topic, partition: 0 }, [record('came')]);
    await witness.count(3);
    expect(performance.now() - startedMs).toBeLessThan(longWaitMs / 2);
    expect(witness.errors).toEqual([]);
    expect(witness.interruptions).toEqual([]);
  });

  test('what others wrote before own records that are skipped is delivered all the same', async () => {
    const topic = await bench.topic(1);
    const at = { topic, partition: 0 };
    const log = bench.connect();
    await log.append(at, numbered(6));
    const witness = new ReadWitness();
    const reader = await bench.reader(log, witness);
    reader.pause(at);
    reader.assign(at, 0);
    reader.skip?.(at, 4, 6);
    await witness.count(6);
    expect(witness.offsets(0)).toEqual(upTo(6));
    reader.skip?.(at, 6, 7);
    await log.append(at, numbered(3, 6));
    // A hint: the skipped one may come or not, never another one less.
    await eventually('the rest', () => witness.offsets(0).includes(8));
    expect(witness.offsets(0).filter((offset) => offset !== 6)).toEqual([...upTo(6), 7, 8]);
  });

  test('two readers see the same records, each by itself', async () => {
    const topic = await bench.topic(1);
    const log = bench.connect();
    const witnesses = [new ReadWitness(), new ReadWitness()];
    for (const witness of witnesses) {
      const reader = await bench.reader(bench.connect(), witness);
      reader.assign({ topic, partition: 0 }, 0);
    }
    await log.append({ topic, partition: 0 }, numbered(50));
    for (const witness of witnesses) {
      await witness.count(50);
      expect(witness.offsets(0)).toEqual(upTo(50));
    }
  });

  test('a paused partition is silent, others go on, and it resumes where it stood', async () => {
    const topic = await bench.topic(2);
    const log = bench.connect();
    const witness = new ReadWitness();
    const reader = await bench.reader(bench.connect(), witness);
    for (const partition of upTo(2)) reader.assign({ topic, partition }, 0);
    await log.append({ topic, partition: 0 }, numbered(2));
    await witness.count(2);
    reader.pause({ topic, partition: 0 });
    await log.append({ topic, partition: 0 }, numbered(3, 2));
    await log.append({ topic, partition: 1 }, numbered(1));
    await witness.count(3);
    await quiet();
    expect(witness.offsets(0)).toEqual([0, 1]);
    expect(witness.offsets(1)).toEqual([0]);
    reader.resume({ topic, partition: 0 });
    await witness.count(6);
    expect(witness.offsets(0)).toEqual(upTo(5));
  });

  test('an unassigned partition is silent, and an assignment anew moves the position', async () => {
    const topic = await bench.topic(1);
    const log = bench.connect();
    const witness = new ReadWitness();
    const reader = await bench.reader(bench.connect(), witness);
    reader.assign({ topic, partition: 0 }, 0);
    await log.append({ topic, partition: 0 }, numbered(3));
    await witness.count(3);
    reader.unassign({ topic, partition: 0 });
    await log.append({ topic, partition: 0 }, numbered(2, 3));
    await quiet();
    expect(witness.offsets(0)).toEqual([0, 1, 2]);
    reader.assign({ topic, partition: 0 }, 1);
    await witness.count(7);
    expect(witness.offsets(0)).toEqual([0, 1, 2, 1, 2, 3, 4]);
  });

  test('a partition that is assigned while others wait for data is read soon', async () => {
    const topic = await bench.topic(2);
    const log = bench.connect();
    await log.append({ topic, partition: 1 }, numbered(1));
    const witness = new ReadWitness();
    const reader = await bench.reader(bench.connect(), witness);
    reader.assign({ topic, partition: 0 }, 0);
    await quiet();
    reader.assign({ topic, partition: 1 }, 0);
    await eventually('the record', () => witness.records.length === 1, 2_000);
  });

  test('a position above the log is an error of that partition, and others go on', async () => {
    const topic = await bench.topic(2);
    const log = bench.connect();
    await log.append({ topic, partition: 0 }, numbered(1));
    await log.append({ topic, partition: 1 }, numbered(1));
    const witness = new ReadWitness();
    const reader = await bench.reader(bench.connect(), witness);
    reader.assign({ topic, partition: 0 }, 99);
    reader.assign({ topic, partition: 1 }, 0);
    await eventually('the error', () => witness.errors.length === 1);
    await witness.count(1);
    expect(witness.errors[0]?.partition).toEqual({ topic, partition: 0 });
    expect(witness.errors[0]?.error).toBeInstanceOf(LongreinError);
    expect(witness.errors[0]?.error).toMatchObject({ code: 'OFFSET_OUT_OF_RANGE' });
    await log.append({ topic, partition: 1 }, numbered(1));
    await witness.count(2);
    await quiet();
    expect(witness.errors).toHaveLength(1);
    expect(witness.offsets(1)).toEqual([0, 1]);
  });

  test('the end of the log is a position, and not an error', async () => {
    const topic = await bench.topic(1);
    const log = bench.connect();
    await log.append({ topic, partition: 0 }, numbered(4));
    const witness = new ReadWitness();
    const reader = await bench.reader(log, witness);
    reader.assign({ topic, partition: 0 }, 4);
    await quiet();
    await log.append({ topic, partition: 0 }, numbered(1));
    await witness.count(1);
    expect(witness.offsets(0)).toEqual([4]);
    expect(witness.errors).toEqual([]);
  });

  test('a topic that stays unknown is an error of its partitions', async () => {
    const topic = bench.freshName();
    const witness = new ReadWitness();
    const reader = await bench.reader(bench.connect(), witness);
    reader.assign({ topic, partition: 0 }, 0);
    await eventually('the error', () => witness.errors.length === 1);
    expect(witness.errors[0]?.partition).toEqual({ topic, partition: 0 });
    expect(witness.errors[0]?.error).toMatchObject({ code: 'TOPIC_UNKNOWN' });
  });

  test('an offset that is none is a mistake of the caller', async () => {
    const topic = await bench.topic(1);
    const reader = await bench.reader(bench.connect(), new ReadWitness());
    for (const offset of [-1, 0.5, Number.NaN]) {
      expect(() => reader.assign({ topic, partition: 0 }, offset)).toThrow(InvariantError);
    }
  });

  test('a closed log calls nobody any more and appends nothing', async () => {
    const topic = await bench.topic(1);
    const log = bench.connect();
    const witness = new ReadWitness();
    const reader = await bench.reader(log, witness);
    reader.assign({ topic, partition: 0 }, 0);
    await log.append({ topic, partition: 0 }, numbered(1));
    await witness.count(1);
    await log.close();
    await expect(log.append({ topic, partition: 0 }, numbered(1))).rejects.toThrow();
    await expect(log.reader(witness)).rejects.toThrow();
    const other = bench.connect();
    expect(await other.append({ topic, partition: 0 }, numbered(1))).toEqual({ baseOffset: 1 });
    await quiet();
    expect(witness.records).toHaveLength(1);
    expect(witness.errors).toEqual([]);
    await log.close();
  });

  test('a closed reader is silent, and the log goes on', async () => {
    const topic = await bench.topic(1);
    const log = bench.connect();
    const witness = new ReadWitness();
    const reader = await bench.reader(log, witness);
    reader.assign({ topic, partition: 0 }, 0);
    await log.append({ topic, partition: 0 }, numbered(1));
    await witness.count(1);
    await reader.close();
    expect(await log.append({ topic, partition: 0 }, numbered(1))).toEqual({ baseOffset: 1 });
    await quiet();
    expect(witness.records).toHaveLength(1);
  });

  test('a reader that is closed as soon as it has read something ends, every time', async () => {
    const topic = await bench.topic(1);
    const log = bench.connect();
    await log.append({ topic, partition: 0 }, numbered(1));
    for (let turn = 0; turn < 200; turn++) {
      const witness = new ReadWitness();
      const reader = await bench.reader(log, witness);
      reader.assign({ topic, partition: 0 }, 0);
      await witness.count(1);
      let isClosed = false;
      void reader.close().then(() => {
        isClosed = true;
      });
      await eventually('the end of the reader', () => isClosed, 5_000);
    }
  });
}
