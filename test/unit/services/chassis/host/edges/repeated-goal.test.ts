// Hard edge 1b.8.
import { expect, test } from 'vitest';
import type { Draft } from '../../../../../../schemas/event.ts';
import { resultsTopic, sessionTopic } from '../../../../../../schemas/topics.ts';
import type { AnyLogic } from '../../../../../../services/chassis/protocol/service-logic.ts';
import { startJanitor } from '../../../../../support/memory-janitor.ts';
import { MemoryWorld } from '../../../../../support/memory-world.ts';

/** DESIGN 3.8: a repeat follows the first, whatever it says, whenever it comes. */

const goal = { id: 'g-1', goal: 'say it', plan: 'echo', inputs: { said: 'once' } };

function resultsOf(world: MemoryWorld): string[] {
  const partitions = [...world.cluster.topics.get(resultsTopic).partitions.keys()];
  return partitions.flatMap((partition) =>
    world.cluster
      .records({ topic: resultsTopic, partition })
      .map(({ value }) => Buffer.from(value ?? '').toString('utf8')),
  );
}

const openings = (world: MemoryWorld, lane: string): number =>
  world
    .records(sessionTopic(lane))
    .filter(({ headers }) => headers['lr_types'] === 'session.opened').length;

async function done(change?: (logic: AnyLogic) => AnyLogic): Promise<MemoryWorld> {
  const world = await MemoryWorld.start(change === undefined ? {} : { change });
  world.publishGoal(goal);
  expect(await world.runUntilDone()).toBe(true);
  await world.clock.run(30_000);
  return world;
}

/** The goal again, in another lane: nothing is done twice, and all results are the first one. */
async function repeat(world: MemoryWorld): Promise<void> {
  world.publishGoal({ ...goal, priority: 'high' });
  await world.clock.run(60_000);
  const results = resultsOf(world);
  expect(new Set(results).size).toBe(1);
  expect([openings(world, 'normal'), openings(world, 'high')]).toEqual([1, 0]);
  expect(world.fatal).toEqual([]);
}

test('a goal repeated with another priority while it runs is the first one', async () => {
  const world = await MemoryWorld.start();
  world.publishGoal(goal);
  world.publishGoal({ ...goal, priority: 'high' });
  expect(await world.runUntilDone()).toBe(true);
  await repeat(world);
});

test('a goal repeated with another priority after its session closed is the first one', async () => {
  await repeat(await done());
});

test('a goal repeated after hosts were started again, and the log was trimmed, is the first one', async () => {
  const world = await done();
  await world.stopHost('host-1');
  await world.startHost('host-2', ['all']);
  await world.clock.run(10_000);
  const janitor = await startJanitor(world);
  await janitor.run();
  await world.clock.run(1_000);
  world.publishGoal({ ...goal, priority: 'high' });
  await world.clock.run(60_000);
  expect(new Set(resultsOf(world)).size).toBe(1);
  expect(openings(world, 'high')).toBe(0);
});

test('a goal repeated after the lanes changed stays where it was', async () => {
  const moved = { lane: false };
  // A release that gives every goal another lane.
  const world = await done((logic) => {
    if (logic.name !== 'intake') return logic;
    const decide: AnyLogic['decide'] = (state, input) =>
      logic.decide(state, input).map((draft) => (moved.lane ? inLane(draft, 'bulk') : draft));
    return { ...logic, decide };
  });
  moved.lane = true;
  await repeat(world);
  expect(openings(world, 'bulk')).toBe(0);
});

function inLane(draft: Draft, lane: string): Draft {
  return { ...draft, data: { ...draft.data, ...('lane' in draft.data ? { lane } : {}) } } as Draft;
}
