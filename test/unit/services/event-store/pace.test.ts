import { expect, test } from 'vitest';
import { Pace } from '../../../../services/event-store/pace.ts';

/** A pace after many inserts of so long, one after the other. */
function paceOf(insertMs: number, inserts = 400): Pace {
  const pace = new Pace(() => 0);
  for (let n = 0; n < inserts; n++) pace.inserted(insertMs);
  return pace;
}

test('rows wait a little where inserts cost little', () => {
  expect(new Pace(() => 0).waitMs(1)).toBe(200);
  expect(paceOf(5).waitMs(1)).toBe(200);
});

test('they wait longer the more an insert costs and the more partitions have some', () => {
  const [one, four] = [paceOf(40).waitMs(1), paceOf(40).waitMs(3)];
  expect(one).toBeCloseTo(400, -1);
  expect(four).toBeCloseTo(1_200, -1);
});

test('never for long: whoever looks must see what happens', () => {
  expect(paceOf(5_000).waitMs(30)).toBe(2_000);
});

test('a wait is whole milliseconds: a part of one would be waited for again and again', () => {
  for (const insertMs of [21.37, 33.33, 40.001]) {
    const waitMs = paceOf(insertMs).waitMs(1);
    expect(Number.isInteger(waitMs)).toBe(true);
  }
});

test('inserts that are few wait a little however dear they are, and what is saved up is not endless', () => {
  let nowMs = 0;
  const pace = new Pace(() => nowMs);
  const waits: number[] = [];
  for (let n = 0; n < 40; n++) {
    waits.push(pace.waitMs(5));
    pace.inserted(100);
  }
  expect(waits.filter((ms) => ms === 200)).toHaveLength(10);
  expect(waits.at(-1)).toBe(2_000);
  // A minute later the tenth of it would be six seconds.
  nowMs += 60_000;
  const later = Array.from({ length: 40 }, () => {
    pace.inserted(100);
    return pace.waitMs(5);
  });
  expect(later.filter((ms) => ms === 200)).toHaveLength(9);
});

test('the end of a session waits a little for longer, but not where inserts take all the time', () => {
  const busy = paceOf(100, 15);
  expect([busy.waitMs(5), busy.waitMs(5, true)]).toEqual([2_000, 200]);
  const flooded = paceOf(100, 25);
  expect([flooded.waitMs(5), flooded.waitMs(5, true)]).toEqual([2_000, 2_000]);
});
