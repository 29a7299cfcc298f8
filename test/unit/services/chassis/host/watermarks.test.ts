import { describe, expect, test } from 'vitest';
import { limits } from '../../../../../schemas/limits.ts';
import { watermarksTopic } from '../../../../../schemas/topics.ts';
import { trimKey } from '../../../../../services/chassis/host/watermark-records.ts';
import {
  type ClosedSegment,
  type Watermark,
  Watermarks,
} from '../../../../../services/chassis/host/watermarks.ts';
import { createFixedCodec } from '../../../../../services/chassis/log/codec.ts';
import { keepingLogger, quietPorts } from '../../../../support/quiet-ports.ts';
import { ScriptedLog, settled } from '../../../../support/scripted-log.ts';
import { VirtualClock } from '../../../../support/virtual-clock.ts';

const at = { topic: watermarksTopic, partition: 0 };
const partition = { topic: 'longrein.sessions.normal', partition: 2 };

const mark = (offset: number, service = 'planner'): Watermark => ({
  ...partition,
  service,
  offset,
  acceptance: { planner: { number: 1, incarnation: 'one', sequence: offset } },
});
const segment = (hour: number, sessions: Record<string, number>): ClosedSegment => ({
  ...partition,
  hour,
  sessions,
});

async function bench() {
  const log = new ScriptedLog();
  const logger = keepingLogger();
  const watermarks = new Watermarks(quietPorts(log, new VirtualClock(), { logger }));
  await watermarks.start();
  /** What was written is read back. */
  const readBack = (): void => {
    for (const { records } of log.appends.splice(0)) log.deliver(at, records);
  };
  const write = (marks: readonly Watermark[], segments: readonly ClosedSegment[] = []): void => {
    void watermarks.write(marks, segments);
  };
  return { log, logger, watermarks, readBack, write };
}

describe('marks', () => {
  test('are known when they were read; the last of a key wins, also when it is lower', async () => {
    const { watermarks, readBack, write } = await bench();
    write([mark(10), mark(7, 'supervisor')]);
    expect(watermarks.of('planner', partition)).toBeUndefined();
    readBack();
    write([mark(5)]);
    readBack();
    expect(watermarks.of('planner', partition)).toEqual(mark(5));
    expect(watermarks.of('planner', { ...partition, partition: 3 })).toBeUndefined();
    expect(watermarks.at(partition)).toEqual([mark(5), mark(7, 'supervisor')]);
  });

  test('of a retired service are taken off by a record without a value', async () => {
    const { log, watermarks, readBack, write } = await bench();
    write([mark(10), mark(7, 'supervisor')]);
    const key = log.appends[0]?.records[0]?.key ?? '';
    readBack();
    log.deliver(at, [{ key, value: null }]);
    expect(watermarks.at(partition)).toEqual([mark(7, 'supervisor')]);
  });
});

describe('closed segments', () => {
  test('are read per partition; none replaces another, and one may be taken off', async () => {
    const { log, watermarks, readBack, write } = await bench();
    write([], [segment(1, { a: 1 }), segment(2, { b: 2 })]);
    const key = log.appends[0]?.records[0]?.key ?? '';
    readBack();
    write([], [segment(2, { b: 2, c: 3 })]);
    readBack();
    write([], [segment(2, { c: 3 }), segment(2, { b: 2, c: 3 })]);
    readBack();
    const hour = [segment(2, { b: 2 }), segment(2, { b: 2, c: 3 }), segment(2, { c: 3 })];
    expect(watermarks.closedAt(partition)).toEqual([segment(1, { a: 1 }), ...hour]);
    log.deliver(at, [{ key, value: null }]);
    expect(watermarks.closedAt(partition)).toEqual(hour);
    expect(watermarks.closedAt({ ...partition, partition: 3 })).toEqual([]);
  });

  test('stand before the marks of one write: a mark may pass only what is remembered', async () => {
    const { log, write } = await bench();
    write([mark(10)], [segment(1, { a: 1 })]);
    const keys = log.appends[0]?.records.map((record) => record.key);
    expect(keys).toEqual([
      'closed/longrein.sessions.normal/2/1/1-1',
      'mark/planner/longrein.sessions.normal/2',
    ]);
  });
});

describe('trims', () => {
  const trim = (offset: number) => ({ ...partition, offset, acceptance: {}, atMs: 1 });
  const entry = (offset: number) => ({ key: trimKey(trim(offset)), value: trim(offset) });

  test('count by their offset, in whatever order they were written, and after compaction too', async () => {
    const { log, watermarks, readBack } = await bench();
    void watermarks.put([entry(30), entry(50), entry(40)]);
    // What the broker keeps of a key is the last of it: no trim may be replaced by a lower one.
    const keys = log.appends.flatMap(({ records }) => records.map(({ key }) => key));
    expect(new Set(keys).size).toBe(3);
    readBack();
    expect(watermarks.trimAt(partition)?.offset).toBe(50);
    expect(watermarks.trimsAt(partition).map(({ offset }) => offset)).toEqual([30, 40, 50]);
    expect(watermarks.trimAt({ ...partition, partition: 3 })).toBeUndefined();
    void watermarks.put([{ key: entry(30).key, value: undefined }]);
    readBack();
    expect(watermarks.trimsAt(partition)).toHaveLength(2);
  });
});

test('much is written in requests that a broker takes, in the order in which it was given', async () => {
  const { log, watermarks } = await bench();
  const many = Array.from({ length: 40 }, (_, hour) =>
    segment(
      hour,
      Object.fromEntries(Array.from({ length: 2_000 }, (_one, n) => [`ses_${hour}_${n}`, n])),
    ),
  );
  void watermarks.write([mark(10)], many);
  for (let sentOnes = 0; sentOnes < log.appends.length; sentOnes++) {
    log.appends[sentOnes]?.acknowledge(0);
    await settled();
  }
  const sizes = log.appends.map(({ records }) =>
    records.reduce((bytes, { value }) => bytes + (value?.length ?? 0), 0),
  );
  expect(log.appends.length).toBeGreaterThan(1);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(limits.requestBytesMax);
  const keys = log.appends.flatMap(({ records }) => records.map(({ key }) => key));
  expect(keys).toHaveLength(41);
  expect(keys.at(-1)).toMatch(/^mark/);
});

test('nothing to write is nothing sent', async () => {
  const { log, watermarks } = await bench();
  await watermarks.write([], []);
  expect(log.appends).toEqual([]);
});

test('who needs what is there now waits until it was read', async () => {
  const { log, watermarks } = await bench();
  let known = false;
  log.grow(watermarksTopic, 2);
  const waiting = watermarks.current().then(() => {
    known = true;
  });
  await settled();
  log.grow(watermarksTopic, 0);
  const value = createFixedCodec().encode('watermark', mark(1));
  log.deliver(at, [{ key: 'mark/planner/longrein.sessions.normal/2', value }]);
  await settled();
  expect(known).toBe(false);
  log.deliver(at, [{ key: 'mark/planner/longrein.sessions.normal/2', value }]);
  await waiting;
  expect(known).toBe(true);
  await watermarks.current();
});

test('records that cannot be read, or that are something else, are passed over', async () => {
  const { log, logger, watermarks, readBack, write } = await bench();
  write([mark(3)]);
  readBack();
  const other = createFixedCodec().encode('watermark', { offset: 1 });
  log.deliver(at, [
    { key: 'mark/planner/longrein.sessions.normal/2', value: Buffer.from('not framed') },
    { key: 'trim/longrein.sessions.normal/2', value: other },
  ]);
  expect(watermarks.of('planner', partition)).toEqual(mark(3));
  expect(logger.lines.map(({ level }) => level)).toEqual(['warn']);
});
