import { describe, expect, test } from 'vitest';
import { limits } from '../../../../../schemas/limits.ts';
import { type Queued, RecordQueue } from '../../../../../services/chassis/host/record-queue.ts';
import type { LogRecord } from '../../../../../services/chassis/log/port.ts';
import type { PlacedRecord } from '../../../../../services/chassis/protocol/record.ts';
import { settled } from '../../../../support/scripted-log.ts';

const partition = { topic: 'longrein.sessions.normal', partition: 3 };
const record = (offset: number): LogRecord => ({
  ...partition,
  offset,
  key: '',
  headers: {},
  value: null,
  timestampMs: 0,
});
const records = (from: number, to: number): LogRecord[] =>
  Array.from({ length: to - from }, (_, index) => record(from + index));

function bench(start = 0, process: (one: Queued) => Promise<void> | undefined = () => undefined) {
  const taken: number[] = [];
  const flow: string[] = [];
  const halts: { code: string; message: string; fix: string | undefined }[] = [];
  const queue = new RecordQueue(start, {
    partition,
    reading: {
      pause: () => flow.push('pause'),
      resume: () => flow.push('resume'),
      skip: (_at, from, to) => flow.push(`skip ${from} to ${to}`),
    },
    process,
    onTaken: (one) => taken.push(one.offset),
    onHalt: ({ code, message, fix }) => halts.push({ code, message, fix }),
  });
  return { queue, taken, flow, halts };
}

describe('records', () => {
  test('are taken one at a time, in order, however they come', async () => {
    let busy = 0;
    const { queue, taken } = bench(5, async () => {
      expect(++busy).toBe(1);
      await settled();
      busy -= 1;
    });
    queue.push(records(5, 7));
    queue.push(records(7, 8));
    expect([queue.position, queue.expected, queue.empty]).toEqual([8, 5, false]);
    for (let i = 0; i < 6; i++) await settled();
    expect(taken).toEqual([5, 6, 7]);
    expect([queue.expected, queue.empty]).toEqual([8, true]);
  });

  test('that are known already are left out, from the reader and past it', async () => {
    const { queue, taken } = bench();
    queue.push(records(0, 3));
    queue.push(records(0, 3));
    queue.push(records(2, 5));
    await settled();
    expect(taken).toEqual([0, 1, 2, 3, 4]);
  });

  test('that come while others are taken are taken too', async () => {
    const { queue, taken } = bench(0, (one) => {
      if (one.offset === 1) queue.push(records(2, 4));
      return undefined;
    });
    queue.push(records(0, 2));
    await settled();
    expect(taken).toEqual([0, 1, 2, 3]);
  });

  test('that come right when the last was taken are not forgotten', async () => {
    const { queue, taken } = bench(0, async () => undefined);
    queue.push([record(0)]);
    for (let offset = 1; offset < 50; offset++) {
      await Promise.resolve();
      queue.push([record(offset)]);
    }
    await settled();
    expect(taken).toEqual(records(0, 50).map((one) => one.offset));
    expect(queue.empty).toBe(true);
  });
});

describe('a gap', () => {
  test('stops the partition and says where, and what to do', async () => {
    const { queue, taken, halts } = bench();
    queue.push(records(0, 2));
    queue.push([record(3), record(4)]);
    await settled();
    expect(taken).toEqual([0, 1]);
    expect(halts).toHaveLength(1);
    expect(halts[0]).toMatchObject({
      code: 'LOG_GAP',
      message: 'longrein.sessions.normal/3: expected offset 2, got 3',
    });
    expect(halts[0]?.fix).toContain('restore the topic');
  });

  test('at the very start stops it as well', async () => {
    const { queue, halts } = bench(10);
    queue.push([record(11)]);
    await settled();
    expect(halts[0]?.message).toContain('expected offset 10, got 11');
  });

  test('is not passed later: a stopped partition takes nothing', async () => {
    const { queue, taken, halts } = bench();
    queue.push([record(1)]);
    await settled();
    queue.push(records(2, 4));
    await settled();
    expect(taken).toEqual([]);
    expect(halts).toHaveLength(1);
    expect(queue.halted).toBe(true);
  });
});

test('what fails while it is taken stops the partition, with its reason', async () => {
  const { queue, taken, halts } = bench(0, (one) => {
    if (one.offset === 1) throw new TypeError('no such member');
    return undefined;
  });
  queue.push(records(0, 3));
  await settled();
  expect(taken).toEqual([0]);
  expect(halts).toEqual([{ code: 'PARTITION_FAILED', message: 'no such member', fix: undefined }]);
  expect(queue.expected).toBe(1);
});

test('the reader waits while the queue is long, and goes on before it is empty', async () => {
  let release: () => void = () => undefined;
  const blocked = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { queue, flow, taken } = bench(0, (one) => (one.offset === 0 ? blocked : undefined));
  // The first is being taken: it waits no more.
  const max = limits.partitionQueueMax;
  queue.push(records(0, max));
  queue.push([record(max)]);
  expect(flow).toEqual([]);
  queue.push([record(max + 1)]);
  queue.push([record(max + 2)]);
  expect(flow).toEqual(['pause']);
  release();
  await settled();
  expect(flow).toEqual(['pause', 'resume']);
  expect(taken).toHaveLength(max + 3);
});

describe('records of our own', () => {
  const placed = (from: number, to: number) => records(from, to) as unknown as PlacedRecord[];

  test('are taken past the reader, who need not bring them', async () => {
    const { queue, taken, flow } = bench();
    queue.pushOwn(placed(0, 3));
    await settled();
    expect(taken).toEqual([0, 1, 2]);
    expect(flow).toEqual(['skip 0 to 3']);
  });

  test('come by the reader while the queue is long: they fill the memory no less', async () => {
    let release: () => void = () => undefined;
    const blocked = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { queue, flow, taken } = bench(0, (one) => (one.offset === 0 ? blocked : undefined));
    const max = limits.partitionQueueMax;
    queue.pushOwn(placed(0, max));
    queue.pushOwn(placed(max, max + 2));
    expect(flow).toContain('pause');
    const before = flow.length;
    queue.pushOwn(placed(max + 2, max + 9));
    expect([queue.position, flow.length]).toEqual([max + 2, before]);
    release();
    await settled();
    queue.push(records(max + 2, max + 9));
    await settled();
    expect(taken).toHaveLength(max + 9);
  });

  test('wait for the reader where another wrote before them', async () => {
    const { queue, taken, flow } = bench();
    queue.pushOwn(placed(2, 3));
    await settled();
    expect(taken).toEqual([]);
    queue.push(records(0, 3));
    for (let i = 0; i < 6; i++) await settled();
    expect(taken).toEqual([0, 1, 2]);
    expect(flow).toEqual([]);
  });

  test('of which the reader has brought a part are taken from there on', async () => {
    const { queue, taken, flow } = bench();
    queue.push(records(0, 2));
    queue.pushOwn(placed(0, 4));
    for (let i = 0; i < 6; i++) await settled();
    expect(taken).toEqual([0, 1, 2, 3]);
    expect(flow).toEqual(['skip 0 to 4']);
  });
});
