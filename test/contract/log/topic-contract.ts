/** Topics: creation, bounds, trimming. */

import { expect, test } from 'vitest';
import type { Bench } from './bench.ts';
import { eventually, numbered, ReadWitness } from './log-witness.ts';

export function topicContract(bench: Bench): void {
  test('missing topics are created, and asking again changes nothing', async () => {
    const log = bench.connect();
    const specs = [2, 5].map((partitions) => ({
      name: bench.freshName(),
      partitions,
      config: { 'cleanup.policy': 'compact' },
    }));
    await log.ensureTopics(specs);
    await log.ensureTopics(specs);
    for (const { name, partitions } of specs) {
      expect((await log.bounds(name)).size).toBe(partitions);
    }
  });

  test('two programs that create the same topic at once both succeed', async () => {
    const spec = { name: bench.freshName(), partitions: 3, config: {} };
    const logs = [bench.connect('a'), bench.connect('b')];
    await Promise.all(logs.map((log) => log.ensureTopics([spec])));
    expect((await bench.connect().bounds(spec.name)).size).toBe(3);
  });

  test('a topic with another number of partitions is refused, and nothing is created', async () => {
    const topic = await bench.topic(3);
    const log = bench.connect();
    const other = bench.freshName();
    const specs = [
      { name: other, partitions: 1, config: {} },
      { name: topic, partitions: 4, config: {} },
    ];
    await expect(log.ensureTopics(specs)).rejects.toMatchObject({
      code: 'TOPIC_PARTITIONS_DIFFER',
      retryable: false,
    });
    await expect(log.bounds(other)).rejects.toMatchObject({ code: 'TOPIC_UNKNOWN' });
  });

  test('bounds of an empty topic are zero, of an unknown one an error', async () => {
    const topic = await bench.topic(2);
    const log = bench.connect();
    expect(await log.bounds(topic)).toEqual(
      new Map([
        [0, { low: 0, high: 0 }],
        [1, { low: 0, high: 0 }],
      ]),
    );
    await expect(log.bounds(bench.freshName())).rejects.toMatchObject({ code: 'TOPIC_UNKNOWN' });
  });

  test('trimming moves the low bound, and a position below it is an error', async () => {
    const topic = await bench.topic(1);
    const log = bench.connect();
    await log.append({ topic, partition: 0 }, numbered(10));
    await log.trim({ topic, partition: 0 }, 6);
    expect(await log.bounds(topic)).toEqual(new Map([[0, { low: 6, high: 10 }]]));
    const witness = new ReadWitness();
    const reader = await bench.reader(log, witness);
    reader.assign({ topic, partition: 0 }, 5);
    await eventually('the error', () => witness.errors.length === 1);
    expect(witness.errors[0]?.error).toMatchObject({ code: 'OFFSET_OUT_OF_RANGE' });
    reader.assign({ topic, partition: 0 }, 6);
    await witness.count(4);
    expect(witness.offsets(0)).toEqual([6, 7, 8, 9]);
  });

  test('trimming below the low bound does nothing, above the high one is an error', async () => {
    const topic = await bench.topic(1);
    const log = bench.connect();
    await log.append({ topic, partition: 0 }, numbered(4));
    await log.trim({ topic, partition: 0 }, 4);
    await log.trim({ topic, partition: 0 }, 2);
    expect(await log.bounds(topic)).toEqual(new Map([[0, { low: 4, high: 4 }]]));
    const beyond = log.trim({ topic, partition: 0 }, 5);
    await expect(beyond).rejects.toMatchObject({ code: 'OFFSET_OUT_OF_RANGE' });
    expect(await log.append({ topic, partition: 0 }, numbered(1))).toEqual({ baseOffset: 4 });
  });

  test('the identity of a topic is the same for everyone, and no other topic has it', async () => {
    const [one, other] = [await bench.topic(2), await bench.topic(2)];
    const id = await bench.connect('a').topicId(one);
    expect(id).toBeDefined();
    expect(await bench.connect('b').topicId(one)).toBe(id);
    expect(await bench.connect('b').topicId(other)).not.toBe(id);
    const unknown = bench.connect().topicId(bench.freshName());
    await expect(unknown).rejects.toMatchObject({ code: 'TOPIC_UNKNOWN' });
  });

  test('the offset of a time is that of the first record of that time or later', async () => {
    const topic = await bench.topic(1);
    const log = bench.connect();
    const at = { topic, partition: 0 };
    expect(await log.offsetAt(at, 0)).toBe(0);
    await log.append(at, numbered(3));
    const betweenMs = Date.now() + 20;
    await eventually('a later time', () => Date.now() > betweenMs);
    await log.append(at, numbered(2));
    expect(await log.offsetAt(at, 0)).toBe(0);
    expect(await log.offsetAt(at, betweenMs)).toBe(3);
    expect(await log.offsetAt(at, betweenMs + 3_600_000)).toBe(5);
    await log.trim(at, 4);
    expect(await log.offsetAt(at, 0)).toBe(4);
  });
}
