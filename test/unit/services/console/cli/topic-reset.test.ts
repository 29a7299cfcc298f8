import { describe, expect, test } from 'vitest';
import type { Place, Watermark } from '../../../../../services/chassis/host/watermark-records.ts';
import { isBroken, resetEntries } from '../../../../../services/console/cli/topic-reset.ts';

const name = { topic: 'longrein.sessions.normal', partition: 1 };
const epoch = (number: number) => ({ planner: { number, incarnation: 'one', sequence: 3 } });
const mark = (service: string, offset: number): Watermark => ({
  ...{ ...name, service, offset },
  acceptance: epoch(7),
});
const trim = (offset: number): Place => ({ ...name, offset, acceptance: epoch(5), atMs: 1 });

const known = (marks: readonly Watermark[], trims: readonly Place[] = []) => ({
  at: () => marks,
  trimsAt: () => trims,
  placesAt: () => [],
  listed: () =>
    ['planner', 'pool'].map((service) => ({
      ...{ service, topics: [name.topic], release: '1', atMs: 0 },
    })),
});

test('a partition is broken where the log does not hold a start', () => {
  const bounds = { low: 50, high: 100 };
  expect(isBroken(known([mark('planner', 60)]), name, bounds)).toBe(false);
  expect(isBroken(known([mark('planner', 60), mark('pool', 40)]), name, bounds)).toBe(true);
  expect(isBroken(known([mark('pool', 40)], [trim(50)]), name, bounds)).toBe(false);
  expect(isBroken(known([mark('planner', 101)]), name, bounds)).toBe(true);
  expect(isBroken(known([]), name, bounds)).toBe(true);
  expect(isBroken(known([]), name, { low: 0, high: 100 })).toBe(false);
});

describe('a reset', () => {
  test('starts everybody at the lowest place that is known, with its acceptance state', () => {
    const marks = [mark('planner', 60), mark('pool', 40)];
    const at = { bounds: { low: 50, high: 100 }, sameTopic: true, nowMs: 9 };
    const entries = resetEntries(known(marks, [trim(20)]), name, at);
    expect(entries.at(-1)).toEqual({
      key: 'trim/longrein.sessions.normal/1/60',
      value: { ...name, offset: 60, acceptance: epoch(7), atMs: 9 },
    });
    expect(entries.slice(0, -1)).toEqual(
      [
        'mark/planner/longrein.sessions.normal/1',
        'mark/pool/longrein.sessions.normal/1',
        'trim/longrein.sessions.normal/1/20',
      ].map((key) => ({ key, value: undefined })),
    );
  });

  test('of a topic that was made again starts at its beginning, above all numbers of before', () => {
    const at = { bounds: { low: 0, high: 100 }, sameTopic: false, nowMs: 9 };
    const [, entry] = resetEntries(known([mark('planner', 60)]), name, at);
    const voided = { number: 1_007, incarnation: 'reset', sequence: 0 };
    expect(entry?.value).toMatchObject({
      offset: 0,
      acceptance: { planner: voided, pool: voided },
    });
  });

  test('without any place that is held starts at the end', () => {
    const at = { bounds: { low: 50, high: 100 }, sameTopic: true, nowMs: 9 };
    const entries = resetEntries(known([mark('planner', 40)]), name, at);
    expect(entries.at(-1)?.value).toMatchObject({ offset: 100 });
  });

  test('from the end gives up all that is there, places that are held too', () => {
    const at = { bounds: { low: 50, high: 100 }, sameTopic: true, fromEnd: true, nowMs: 9 };
    const entries = resetEntries(known([mark('planner', 60)]), name, at);
    const voided = { number: 1_007, incarnation: 'reset', sequence: 0 };
    expect(entries.at(-1)?.value).toMatchObject({
      offset: 100,
      acceptance: { planner: voided, pool: voided },
    });
  });
});
