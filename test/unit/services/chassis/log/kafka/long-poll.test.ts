import { expect, it } from 'vitest';
import { LongPoll } from '../../../../../../services/chassis/log/kafka/long-poll.ts';

function polling(isPrompt = false) {
  let cuts = 0;
  const poll = new LongPoll(() => {
    cuts += 1;
  }, isPrompt);
  /** One request that brought so many records; how long it was allowed to wait. */
  const ask = (records: number, somePaused = false): number => {
    const waitMs = poll.begin(somePaused);
    poll.answered(records);
    poll.end();
    return waitMs;
  };
  return { poll, ask, cuts: () => cuts };
}

it('waits longer and longer while nothing comes, up to a limit', () => {
  const { ask } = polling();
  expect([0, 0, 0, 0, 0, 0].map((records) => ask(records))).toEqual([
    200, 400, 800, 1_600, 3_200, 3_200,
  ]);
});

it('waits no longer than before when records came', () => {
  const { ask } = polling();
  expect([0, 0, 3, 1, 0, 0].map((records) => ask(records))).toEqual([
    200, 400, 800, 800, 800, 1_600,
  ]);
});

it('waits a short time only while a partition is paused, since it will be wanted back', () => {
  const { ask } = polling();
  ask(0);
  ask(0);
  expect(ask(0, true)).toBe(200);
});

it('cuts a long wait once when what is to be read changes, and begins anew', () => {
  const { poll, ask, cuts } = polling();
  ask(0);
  expect(poll.begin(false)).toBe(400);
  poll.interrupt();
  poll.interrupt();
  expect(cuts()).toBe(1);
  expect(poll.interrupted).toBe(true);
  poll.end();
  expect(poll.begin(false)).toBe(200);
  expect(poll.interrupted).toBe(false);
});

it('lets a short wait end by itself, and cuts nothing where nothing waits', () => {
  const { poll, ask, cuts } = polling();
  poll.begin(false);
  poll.interrupt();
  poll.end();
  expect(poll.interrupted).toBe(false);
  ask(0);
  ask(0);
  poll.interrupt();
  expect(cuts()).toBe(0);
});

it('cuts a short wait too for a reader that is prompt', () => {
  const { poll, cuts } = polling(true);
  expect(poll.begin(false)).toBe(200);
  poll.interrupt();
  poll.interrupt();
  expect(cuts()).toBe(1);
  expect(poll.interrupted).toBe(true);
});

it('cuts nothing while the next request has not gone out: it will ask for all there is', () => {
  const { poll, cuts } = polling(true);
  poll.begin(false);
  poll.interrupt();
  poll.end();
  expect(poll.interrupted).toBe(false);
  poll.interrupt();
  expect(cuts()).toBe(1);
});
