import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { readSchedule, writtenSchedule } from '../../simulation/schedule-file.ts';
import { scheduleOf } from '../../simulation/world/schedule.ts';

const root = mkdtempSync(join(tmpdir(), 'longrein-schedule-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let count = 0;
function fileOf(text: string): string {
  const path = join(root, `${++count}.json`);
  writeFileSync(path, text);
  return path;
}

const minimal = { schedule: { seed: 7, calmAtMs: 100, rates: {}, actions: [] as object[] } };
const refusal = (text: string) => () => readSchedule(fileOf(text));

describe('a stored schedule', () => {
  test('is read as it was written, whatever the seed draws today', () => {
    const stored = {
      rule: '9a',
      violates: 'a rule',
      seeds: [3, 5],
      schedule: scheduleOf(3),
    } as const;
    expect(readSchedule(fileOf(writtenSchedule(stored)))).toEqual(stored);
  });

  test('is one action a line', () => {
    const text = writtenSchedule({ seeds: [3], schedule: scheduleOf(3) });
    const lines = text.split('\n').filter((line) => line.includes('"do"'));
    expect(lines).toHaveLength(scheduleOf(3).actions.length);
  });

  test('by hand may leave out what does not matter, in any order', () => {
    const actions = [
      { atMs: 9, do: 'crash', victim: 0 },
      { atMs: 1, do: 'start', services: ['all'], skewMs: 0 },
    ];
    const read = readSchedule(
      fileOf(JSON.stringify({ schedule: { ...minimal.schedule, actions } })),
    );
    expect(read).toMatchObject({ seeds: [7] });
    expect(read.schedule).toMatchObject({ partitions: 1, trouble: 0, rates: { lost: 0 } });
    expect(read.schedule.actions.map(({ atMs }) => atMs)).toEqual([1, 9]);
  });
});

describe('what is no schedule is refused with a reason', () => {
  test('a file that is not there', () => {
    const read = () => readSchedule(join(root, 'nowhere.json'));
    expect(read).toThrow(expect.objectContaining({ code: 'SCHEDULE_UNREADABLE' }));
  });

  test('text that is not JSON', () => {
    expect(refusal('seed 418')).toThrow(expect.objectContaining({ code: 'SCHEDULE_INVALID' }));
  });

  test('no actions: the member is named', () => {
    expect(refusal(JSON.stringify(minimal))).toThrow('schedule.actions');
    expect(refusal('{}')).toThrow('schedule');
  });

  test('a rule that nobody knows', () => {
    const actions = [{ atMs: 1, do: 'crash', victim: 0 }];
    const text = JSON.stringify({ rule: '99', schedule: { ...minimal.schedule, actions } });
    expect(refusal(text)).toThrow('no rule "99"');
  });
});
