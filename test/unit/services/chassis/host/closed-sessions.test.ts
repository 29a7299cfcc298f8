import { expect, test } from 'vitest';
import { limits } from '../../../../../schemas/limits.ts';
import { ClosedSessions } from '../../../../../services/chassis/host/closed-sessions.ts';

const at = { topic: 'longrein.sessions.normal', partition: 1 };
const hourMs = 3_600_000;

test('a session is closed for what comes behind its closing, and known as closed for all', () => {
  const closed = new ClosedSessions(at, []);
  closed.add('ses_a', { offset: 10, atMs: 0 });
  expect([closed.closedBefore('ses_a', 10), closed.closedBefore('ses_a', 11)]).toEqual([
    false,
    true,
  ]);
  expect([closed.has('ses_a'), closed.has('ses_b')]).toEqual([true, false]);
  expect(closed.closedBefore('ses_b', 11)).toBe(false);
});

test('the first closing counts', () => {
  const closed = new ClosedSessions(at, []);
  closed.add('ses_a', { offset: 10, atMs: 0 });
  closed.add('ses_a', { offset: 20, atMs: 0 });
  expect(closed.closedBefore('ses_a', 15)).toBe(true);
});

test('what closed is taken once, in one segment per hour of the time of the log', () => {
  const closed = new ClosedSessions(at, [{ ...at, hour: 3, sessions: { ses_old: 1 } }]);
  closed.add('ses_a', { offset: 10, atMs: 3 * hourMs });
  closed.add('ses_b', { offset: 11, atMs: 4 * hourMs - 1 });
  closed.add('ses_c', { offset: 12, atMs: 4 * hourMs });
  expect(closed.takeNew()).toEqual([
    { ...at, hour: 3, sessions: { ses_a: 10, ses_b: 11 } },
    { ...at, hour: 4, sessions: { ses_c: 12 } },
  ]);
  expect(closed.takeNew()).toEqual([]);
  closed.add('ses_a', { offset: 10, atMs: 3 * hourMs });
  expect(closed.takeNew()).toEqual([]);
});

test('segments that could not be written are due again, with what came meanwhile', () => {
  const closed = new ClosedSessions(at, []);
  closed.add('ses_a', { offset: 10, atMs: 0 });
  const taken = closed.takeNew();
  closed.add('ses_b', { offset: 11, atMs: 0 });
  closed.giveBack(taken);
  expect(closed.takeNew()).toEqual([{ ...at, hour: 0, sessions: { ses_a: 10, ses_b: 11 } }]);
});

test('ids are forgotten when the log itself is past the horizon, not earlier', () => {
  const closed = new ClosedSessions(at, []);
  closed.add('ses_a', { offset: 1, atMs: 0 });
  closed.add('ses_b', { offset: 2, atMs: limits.dedupeHorizonMs });
  expect(closed.has('ses_a')).toBe(true);
  closed.add('ses_c', { offset: 3, atMs: limits.dedupeHorizonMs + hourMs });
  expect([closed.has('ses_a'), closed.has('ses_b')]).toEqual([false, true]);
});

test('what the segments of an earlier owner say is known from the start', () => {
  const closed = new ClosedSessions(at, [{ ...at, hour: 3, sessions: { ses_a: 7 } }]);
  expect(closed.closedBefore('ses_a', 8)).toBe(true);
  expect(closed.takeNew()).toEqual([]);
});

test('segments of one hour add up, in whatever order they were written', () => {
  const closed = new ClosedSessions(at, [
    { ...at, hour: 3, sessions: { ses_a: 7, ses_b: 8 } },
    { ...at, hour: 3, sessions: { ses_a: 7 } },
  ]);
  expect([closed.has('ses_a'), closed.has('ses_b')]).toEqual([true, true]);
});
