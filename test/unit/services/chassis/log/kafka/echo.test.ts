import { expect, test } from 'vitest';
import { Echo } from '../../../../../../services/chassis/log/kafka/echo.ts';

function after(answers: number, each: { records: number; own: number }): Echo {
  const echo = new Echo();
  for (let n = 0; n < answers; n++) {
    echo.wrote(each.own);
    echo.answered(each.records);
  }
  return echo;
}

test('who reads nearly only what it wrote itself may rest', () => {
  expect(after(50, { records: 7, own: 7 }).restMs).toBeGreaterThan(0);
});

test('where others write too, nobody waits', () => {
  expect(after(50, { records: 7, own: 5 }).restMs).toBe(0);
  expect(after(50, { records: 7, own: 0 }).restMs).toBe(0);
});

test('little says nothing yet', () => {
  expect(new Echo().restMs).toBe(0);
  expect(after(1, { records: 7, own: 7 }).restMs).toBe(0);
});

test('it ends soon after another begins to write', () => {
  const echo = after(50, { records: 7, own: 7 });
  for (let n = 0; n < 3; n++) echo.answered(7);
  expect(echo.restMs).toBe(0);
});
