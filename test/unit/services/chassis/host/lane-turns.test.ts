import fc from 'fast-check';
import { expect, test } from 'vitest';
import { limits } from '../../../../../schemas/limits.ts';
import { keysTopic, type Lane, sessionTopic } from '../../../../../schemas/topics.ts';
import { LaneTurns } from '../../../../../services/chassis/host/lane-turns.ts';
import { VirtualClock } from '../../../../support/virtual-clock.ts';

const { laneShares, laneActiveMs } = limits;

/** A host in which each piece of work tells its lane when it begins. */
function host() {
  const clock = new VirtualClock();
  const turns = new LaneTurns(clock);
  const begun: string[] = [];
  const work = (topic: string, name: string, cost = 1): void => {
    const turn = turns.of(topic)(cost);
    if (turn === undefined) begun.push(name);
    else void turn.then(() => begun.push(name));
  };
  const many = (lane: Lane, count: number): void => {
    for (let n = 0; n < count; n++) work(sessionTopic(lane), lane);
  };
  const counts = () =>
    Object.fromEntries(['high', 'normal', 'bulk'].map((one) => [one, countOf(one)]));
  const countOf = (name: string): number => begun.filter((one) => one === name).length;
  return { clock, begun, work, many, counts };
}

test('a lane that is alone, or the best one, never waits', () => {
  for (const lane of ['high', 'normal', 'bulk'] as const) {
    const { many, begun } = host();
    many(lane, 1_000);
    expect(begun).toHaveLength(1_000);
  }
  const { many, counts } = host();
  many('bulk', 100);
  many('high', 500);
  expect(counts()).toEqual({ high: 500, normal: 0, bulk: 100 });
});

test('beside a better lane that has work, each does its share and then lets others begin', async () => {
  const { clock, many, counts } = host();
  many('high', 1);
  many('normal', 100);
  many('bulk', 100);
  expect(counts()).toEqual({ high: 1, normal: laneShares.normal, bulk: laneShares.bulk });
  many('high', 40);
  expect(counts()['high']).toBe(41);
  await clock.run(0);
  await clock.run(1);
  expect(counts()).toEqual({ high: 41, normal: 100, bulk: 100 });
});

test('in each round a better lane goes first, and the others have their shares', async () => {
  const { clock, many, begun } = host();
  many('high', 1);
  many('normal', 3 * laneShares.normal);
  many('bulk', 3 * laneShares.bulk);
  const first = begun.length;
  await clock.run(1);
  const round = [
    ...Array(laneShares.normal).fill('normal'),
    ...Array(laneShares.bulk).fill('bulk'),
  ];
  expect(begun.slice(first)).toEqual([...round, ...round]);
});

test('what costs more takes more of the share; even what costs more than all of it is done', async () => {
  const { clock, work, begun } = host();
  work(sessionTopic('high'), 'high');
  for (let n = 0; n < 4; n++) work(sessionTopic('bulk'), 'bulk', 4);
  work(sessionTopic('bulk'), 'huge', 1_000);
  work(sessionTopic('bulk'), 'after', 1);
  expect(begun).toEqual(['high', 'bulk', 'bulk']);
  await clock.run(1);
  expect(begun).toEqual(['high', 'bulk', 'bulk', 'bulk', 'bulk', 'huge', 'after']);
});

test('when the better lane has had nothing for a while, all that waits goes on', async () => {
  const { clock, many, begun } = host();
  many('high', 1);
  await clock.run(laneActiveMs + 1);
  many('bulk', 500);
  expect(begun).toHaveLength(501);
});

test('what is no lane works for all of them: it waits for none and holds none up', () => {
  const { work, many, begun } = host();
  for (let n = 0; n < 100; n++) work(keysTopic, 'key');
  many('bulk', 100);
  many('high', 1);
  for (let n = 0; n < 100; n++) work(keysTopic, 'key');
  expect(begun).toHaveLength(301);
});

test('a later generation of a lane is that lane', () => {
  const { work, many, begun } = host();
  work(`${sessionTopic('high')}.g2`, 'high');
  many('bulk', 100);
  expect(begun.length).toBeLessThan(101);
});

test('whatever comes in whatever order, all is begun, each lane in its order, and none starves', async () => {
  const lane = fc.constantFrom<Lane>('high', 'normal', 'bulk');
  const piece = fc.record({ lane, cost: fc.integer({ min: 1, max: 40 }) });
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 120 }), async (pieces) => {
      const { clock, work, begun } = host();
      for (const [n, one] of pieces.entries())
        work(sessionTopic(one.lane), `${one.lane} ${n}`, one.cost);
      await clock.run(pieces.length + 1);
      expect(begun).toHaveLength(pieces.length);
      for (const one of ['high', 'normal', 'bulk']) {
        const numbers = begun
          .filter((name) => name.startsWith(one))
          .map((name) => Number(name.split(' ')[1]));
        expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
      }
    }),
    { numRuns: 100 },
  );
});
