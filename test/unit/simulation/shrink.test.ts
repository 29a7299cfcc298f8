import { describe, expect, test } from 'vitest';
import { type ShrinkParts, shrink } from '../../simulation/shrink.ts';
import { scheduleOf } from '../../simulation/world/schedule.ts';
import type { Action, Schedule } from '../../simulation/world/schedule-shape.ts';

const start: Action = { atMs: 0, do: 'start', services: ['all'], skewMs: 700, release: 'a' };
const goal = (index: number, atMs: number, kind = 'goal'): Action => {
  const goalId = `goal-${index}`;
  return { atMs, do: 'send', value: { id: goalId }, goalId, kind };
};

const schedule: Schedule = {
  ...scheduleOf(1),
  partitions: 2,
  rates: { lost: 0.1, lostAck: 0.1, delayed: 0, late: 0, refused: 0 },
  trouble: 0.5,
  actions: [
    start,
    ...[0, 1, 2, 3].map((index) => goal(index, 10 + index)),
    { atMs: 500, do: 'crash', victim: 0.3 },
    { atMs: 700, do: 'deafen', victim: 0.2, forMs: 100 },
    goal(2, 900, 'repeat'),
  ],
  calmAtMs: 9_000,
};

/** Shrinks with a rule that is broken where this holds, and counts what was tried. */
function shrinkWhile(fails: (candidate: Schedule) => boolean, more: Partial<ShrinkParts> = {}) {
  const parts = { runsMax: 1_000, timeMsMax: 1_000, nowMs: () => 0, ...more };
  return shrink(schedule, { fails: async (candidate) => fails(candidate), ...parts });
}

const has = (candidate: Schedule, kind: Action['do']): boolean =>
  candidate.actions.some((one) => one.do === kind);

describe('the smallest schedule', () => {
  test('has only what the violation needs, in the order of time', async () => {
    const { schedule: small } = await shrinkWhile(
      (one) =>
        has(one, 'crash') && one.actions.some((a) => a.do === 'send' && a.goalId === 'goal-1'),
    );
    expect(small.actions).toEqual([goal(1, 11), { atMs: 500, do: 'crash', victim: 0.3 }]);
    expect(small).toMatchObject({ trouble: 0, partitions: 1, calmAtMs: 1_500 });
    expect(Object.values(small.rates)).toEqual([0, 0, 0, 0, 0]);
  });

  test('keeps the one rate and the one skew that matter', async () => {
    const { schedule: small } = await shrinkWhile(
      (one) => one.rates.lostAck > 0 && one.actions.some((a) => a.do === 'start' && a.skewMs > 0),
    );
    expect(small.actions).toEqual([start]);
    expect(small.rates).toEqual({ lost: 0, lostAck: 0.1, delayed: 0, late: 0, refused: 0 });
  });

  test('loses the repeat of a goal and keeps the goal', async () => {
    const { schedule: small } = await shrinkWhile((one) => one.actions.some((a) => a.atMs === 12));
    expect(small.actions).toEqual([goal(2, 12)]);
  });

  test('is the same each time', async () => {
    const fails = (one: Schedule): boolean => has(one, 'deafen') && one.trouble > 0;
    expect(await shrinkWhile(fails)).toEqual(await shrinkWhile(fails));
  });
});

describe('shrinking ends', () => {
  test('after so many runs, with the smallest that failed', async () => {
    const tried: Schedule[] = [];
    const fails = (one: Schedule): boolean => {
      tried.push(one);
      return has(one, 'crash');
    };
    const { schedule: small, runs } = await shrinkWhile(fails, { runsMax: 6 });
    expect([runs, tried.length]).toEqual([6, 6]);
    expect(has(small, 'crash')).toBe(true);
    expect(small.actions.length).toBeLessThan(schedule.actions.length);
  });

  test('when its time is over', async () => {
    let nowMs = 0;
    const { runs } = await shrinkWhile(() => true, { nowMs: () => (nowMs += 400) });
    expect(runs).toBeLessThan(5);
  });

  test('with the whole schedule where nothing can go', async () => {
    const { schedule: small } = await shrinkWhile((one) => one === schedule);
    expect(small).toBe(schedule);
  });
});
