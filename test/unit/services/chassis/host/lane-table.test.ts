import { describe, expect, test } from 'vitest';
import {
  firstTable,
  type LaneTable,
  laneTopics,
  newestGeneration,
  parseLaneTable,
  withGeneration,
  withoutGeneration,
} from '../../../../../services/chassis/host/lane-table.ts';

const author = { addedAtMs: 1_000, by: 'ann', reason: 'more hosts' };
const retired = { atMs: 2_000, by: 'ben', reason: 'drained' };
const two = (): LaneTable => withGeneration(firstTable(12), { ...author, partitions: 24 });
const codeOf = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (thrown) {
    return (thrown as { code?: string }).code;
  }
};

describe('the generations of the lanes', () => {
  test('begin with the one that the settings say, under the plain names', () => {
    expect(laneTopics(firstTable(12))).toEqual([
      { topic: 'longrein.sessions.high', partitions: 12 },
      { topic: 'longrein.sessions.normal', partitions: 12 },
      { topic: 'longrein.sessions.bulk', partitions: 12 },
    ]);
  });

  test('grow by one, which takes the new sessions; the older stays in use', () => {
    expect(newestGeneration(two())).toEqual({ ...author, generation: 2, partitions: 24 });
    expect(laneTopics(two()).map(({ topic, partitions }) => `${topic} ${partitions}`)).toEqual([
      'longrein.sessions.high 12',
      'longrein.sessions.normal 12',
      'longrein.sessions.bulk 12',
      'longrein.sessions.high.g2 24',
      'longrein.sessions.normal.g2 24',
      'longrein.sessions.bulk.g2 24',
    ]);
  });

  test('may shrink as well as grow, but not stay as they are', () => {
    const smaller = withGeneration(two(), { ...author, partitions: 6 });
    expect(newestGeneration(smaller)).toMatchObject({ generation: 3, partitions: 6 });
    expect(codeOf(() => withGeneration(two(), { ...author, partitions: 24 }))).toBe(
      'LANES_UNCHANGED',
    );
  });

  test('lose an old one when it is retired, and its number is never used again', () => {
    const left = withoutGeneration(two(), 1, retired);
    expect(laneTopics(left)).toHaveLength(3);
    expect(left.generations[0]).toMatchObject({ generation: 1, retired });
    const next = withGeneration(left, { ...author, partitions: 12 });
    expect(newestGeneration(next).generation).toBe(3);
  });

  test('refuse to retire the newest, and one that is not in use', () => {
    expect(codeOf(() => withoutGeneration(two(), 2, retired))).toBe('GENERATION_IN_USE');
    expect(codeOf(() => withoutGeneration(two(), 7, retired))).toBe('GENERATION_UNKNOWN');
    const left = withoutGeneration(two(), 1, retired);
    expect(codeOf(() => withoutGeneration(left, 1, retired))).toBe('GENERATION_UNKNOWN');
  });

  test('are read back as they were written; anything else is a clear error', () => {
    const bytes = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));
    expect(parseLaneTable(bytes(two()))).toEqual(two());
    for (const wrong of [{}, { generations: [] }, { generations: [{ generation: 0 }] }, 'x'])
      expect(codeOf(() => parseLaneTable(bytes(wrong)))).toBe('LANE_TABLE_INVALID');
    expect(codeOf(() => parseLaneTable(Buffer.from('{')))).toBe('LANE_TABLE_INVALID');
  });
});
