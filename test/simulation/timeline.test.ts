import { beforeAll, describe, expect, test } from 'vitest';
import { tryOut } from './batch.ts';
import { pinnedPath } from './pin.ts';
import { readSchedule } from './schedule-file.ts';
import { timelineOf } from './timeline.ts';

/** A run in which effects start before their claims are in the log. */
let text = '';
let rows: readonly string[][] = [];
let call = '';

beforeAll(async () => {
  const { schedule, rule } = readSchedule(pinnedPath('9a'));
  const slow = { ...schedule, latencyMs: 40 };
  const { run, violations } = await tryOut({ schedule: slow, ablate: rule });
  if (run === undefined) throw new Error('the run broke off');
  call = /call_[0-9a-f]+/.exec(violations[0]?.detail ?? '')?.[0] ?? '';
  text = timelineOf(run, violations);
  rows = text
    .split('\n')
    .slice(2)
    .map((line) => line.trim().split(/ {2,}/));
});

describe('the timeline of a violation', () => {
  test('says which session it is about', () => {
    expect(text.split('\n')[0]).toMatch(/^What happened \(ses_[0-9a-f]{32}\):$/);
  });

  test('has time, host, place and what happened in columns, in the order of time', () => {
    expect(text.split('\n')[1]).toMatch(/^ +s {2}host +where +what$/);
    const times = rows.map(([time]) => Number(time));
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(rows.every((row) => row.length === 4)).toBe(true);
  });

  test('shows the effect before its claim', () => {
    const start = rows.findIndex(([, , , what]) => what === `${call} starts`);
    const claim = rows.findIndex(([, , , what]) => what?.includes(`claimed ${call.slice(0, 24)}`));
    expect(start).toBeGreaterThan(0);
    expect(claim).toBeGreaterThan(start);
  });

  test('leaves out what other sessions did', () => {
    const openings = rows.filter(([, , , what]) => what?.includes('session.opened'));
    expect(openings).toHaveLength(1);
  });
});
