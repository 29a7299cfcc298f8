import { expect, test } from 'vitest';
import { AcceptanceHistory } from '../../../../../services/chassis/host/acceptance-history.ts';
import type { AcceptanceState } from '../../../../../services/chassis/protocol/acceptance.ts';

const at = (sequence: number): AcceptanceState => ({
  planner: { number: 1, incarnation: 'one', sequence },
});

test('it answers the newest known place that is not behind the offset, with its state', () => {
  const history = new AcceptanceHistory(10, at(1));
  history.add(20, at(2));
  history.add(30, at(3));
  expect(history.atOrBefore(10)).toEqual({ offset: 10, acceptance: at(1) });
  expect(history.atOrBefore(29)).toEqual({ offset: 20, acceptance: at(2) });
  expect(history.atOrBefore(30)).toEqual({ offset: 30, acceptance: at(3) });
  expect(history.atOrBefore(1_000)).toEqual({ offset: 30, acceptance: at(3) });
});

test('it never answers a place before its own start', () => {
  const history = new AcceptanceHistory(10, at(1));
  expect(history.atOrBefore(3).offset).toBe(10);
});

test('it keeps the state of a place, however the state moves on', () => {
  const moving = at(1);
  const history = new AcceptanceHistory(0, moving);
  history.add(5, moving);
  (moving['planner'] as { sequence: number }).sequence = 9;
  history.add(5, moving);
  expect(history.atOrBefore(5)).toEqual({ offset: 5, acceptance: at(1) });
});

test('it stays small: places in between are given up, the first and the newest never', () => {
  const history = new AcceptanceHistory(0, at(0));
  for (let offset = 1; offset <= 10_000; offset++) history.add(offset, at(offset));
  const known = new Set(
    Array.from({ length: 10_001 }, (_, offset) => history.atOrBefore(offset).offset),
  );
  expect(known.size).toBeLessThanOrEqual(64);
  expect([known.has(0), known.has(10_000)]).toEqual([true, true]);
  for (const offset of known) expect(history.atOrBefore(offset).acceptance).toEqual(at(offset));
});
