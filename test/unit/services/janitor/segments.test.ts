import { expect, test } from 'vitest';
import { limits } from '../../../../schemas/limits.ts';
import {
  type ClosedSegment,
  closedKey,
} from '../../../../services/chassis/host/watermark-records.ts';
import type { Entry } from '../../../../services/chassis/host/watermarks.ts';
import { mergedSegments } from '../../../../services/janitor/segments.ts';

const at = { topic: 'longrein.sessions.normal', partition: 0 };
const segment = (hour: number, sessions: Record<string, number>) => {
  const value: ClosedSegment = { ...at, hour, sessions };
  return [closedKey(value), value] as const;
};

/** What a topic holds after these writings. */
function kept(before: readonly (readonly [string, ClosedSegment])[], written: readonly Entry[]) {
  const topic = new Map<string, ClosedSegment>(before);
  for (const { key, value } of written) {
    if (value === undefined) topic.delete(key);
    else topic.set(key, value as ClosedSegment);
  }
  return topic;
}

const sessionsIn = (topic: ReadonlyMap<string, ClosedSegment>): string[] =>
  [...topic.values()].flatMap(({ sessions }) => Object.keys(sessions)).sort();

const hours = [
  segment(1, { a: 1 }),
  segment(1, { b: 2, c: 3 }),
  segment(1, { d: 4 }),
  segment(4, { e: 5 }),
  segment(4, { f: 6 }),
];

test('segments of an hour that is over become one; those of the newest hours stay', () => {
  const written = mergedSegments(hours, 2);
  const topic = kept(hours, written);
  expect(sessionsIn(topic)).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
  expect([...topic.values()].map(({ hour }) => hour).sort()).toEqual([1, 4, 4]);
  expect(mergedSegments([...topic], 2)).toEqual([]);
});

test('a janitor that has read less takes nothing away that it does not hold', () => {
  const all = mergedSegments(hours, 2);
  const stale = mergedSegments([...hours.slice(0, 1), ...hours.slice(2)], 2);
  for (const order of [
    [...all, ...stale],
    [...stale, ...all],
  ])
    expect(sessionsIn(kept(hours, order))).toEqual(expect.arrayContaining(['a', 'b', 'c', 'd']));
});

test('what is merged fits into records', () => {
  const many = limits.closedSegmentSessionsMax;
  const parts = Array.from({ length: 10 }, (_, part) =>
    segment(
      1,
      Object.fromEntries(
        Array.from({ length: many / 4 }, (_unused, n) => [`s${part}-${n}`, part * many + n]),
      ),
    ),
  );
  const written = mergedSegments([...parts, segment(9, { z: 1 })], 2);
  const values = written.flatMap(({ value }) => (value === undefined ? [] : [value]));
  expect(values).toHaveLength(3);
  expect(sessionsIn(kept(parts, written))).toHaveLength((10 * many) / 4);
});
