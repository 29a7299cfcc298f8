import { expect, test } from 'vitest';
import { Pace } from '../../../../services/event-store/pace.ts';

function paceOf(insertMs: number): Pace {
  const pace = new Pace();
  for (let n = 0; n < 40; n++) pace.inserted(insertMs);
  return pace;
}

test('rows wait a little where inserts cost little', () => {
  expect(new Pace().waitMs(1)).toBe(200);
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
