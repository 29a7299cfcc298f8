// Hard edges 1b.8, 1b.9.
import { describe, expect, test } from 'vitest';
import { sessionTopic } from '../../../../../../schemas/topics.ts';
import type { LogRecord } from '../../../../../../services/chassis/log/port.ts';
import {
  childOf,
  eventsOf,
  familyProof,
  publishSpread,
  spreadWorld,
} from '../../../../../support/child-worlds.ts';
import type { FakeTool } from '../../../../../support/memory-effects.ts';
import type { MemoryWorld, Published } from '../../../../../support/memory-world.ts';

/** DESIGN 3.8 and 3.12: the opening of a child is written by its parent, again where nobody knows whether it arrived. */

const letters = ['a', 'b', 'c', 'd', 'e'];
const children = 3;
const topic = sessionTopic('normal');

const tool =
  (afterMs: number): FakeTool =>
  ({ arguments: given }) => ({ result: { name: (given as { name: string }).name }, afterMs });

const start = (afterMs: number): Promise<MemoryWorld> =>
  spreadWorld(
    { task: 'timeoutMs: 600000' },
    { tools: { 'test.flaky': tool(afterMs) }, housekeepingMs: 300 },
  );

const recordsOf = (world: MemoryWorld, session: string, type: string): readonly LogRecord[] =>
  world
    .records(topic)
    .filter(
      ({ headers }) =>
        headers['ce_subject'] === session && (headers['lr_types'] ?? '').split(',').includes(type),
    );

const sessionsOf = (parent: Published): readonly string[] =>
  Array.from({ length: children }, (_, index) => childOf(parent, index + 1).session);

/** The openings of all children come a second time, byte for byte. */
function sendOpeningsAgain(world: MemoryWorld, parent: Published): void {
  for (const session of sessionsOf(parent)) {
    const [opening] = recordsOf(world, session, 'session.opened');
    if (opening === undefined) throw new Error(`the child ${session} was not opened`);
    const { key, headers, value, partition } = opening;
    world.cluster.write({ topic, partition }, [{ key, headers, value }]);
  }
}

/** Each branch was called once, each child has one end, and every decision computed again is the recorded one. */
async function expectOnce(world: MemoryWorld, parent: Published): Promise<void> {
  expect(world.results()).toHaveLength(1);
  expect(world.results()).toMatchObject([
    { status: 'completed', output: { each: letters.map((name) => ({ name })) } },
  ]);
  expect(world.started).toHaveLength(letters.length);
  const { parent: own, children: proofs } = await familyProof(world, parent, children);
  expect(own.all('child.ended')).toHaveLength(children);
  for (const proof of proofs) {
    expect(proof.all('session.opened')).toHaveLength(1);
    expect(proof.all('session.closed')).toHaveLength(1);
  }
  expect(world.fatal).toEqual([]);
}

describe('a child whose opening is sent again', () => {
  test('while it runs is the child that it was', async () => {
    const world = await start(5_000);
    const parent = publishSpread(world, letters);
    const begun = () => world.started.length === letters.length;
    expect(await world.clock.run(15_000, begun)).toBe(true);
    sendOpeningsAgain(world, parent);
    expect(await world.runUntilDone()).toBe(true);
    await expectOnce(world, parent);
  });

  test('after its end begins nothing, also for a host that starts afterwards', async () => {
    const world = await start(10);
    const parent = publishSpread(world, letters);
    expect(await world.runUntilDone()).toBe(true);
    sendOpeningsAgain(world, parent);
    await world.clock.run(30_000);
    world.crash('host-1');
    await world.startHost('host-2', ['all']);
    sendOpeningsAgain(world, parent);
    await world.clock.run(30_000);
    await expectOnce(world, parent);
  });

  test('by who takes its parent over, because nobody knows whether it arrived, is opened once', async () => {
    const world = await start(5_000);
    const parent = publishSpread(world, letters);
    const [first = ''] = sessionsOf(parent);
    const opened = () => recordsOf(world, first, 'session.opened').length > 0;
    expect(await world.clock.run(15_000, opened)).toBe(true);
    // The opening is in the child's log; that it is there was not said in the parent's yet.
    expect(recordsOf(world, parent.session, 'delivery.acknowledged')).toEqual([]);
    world.crash('host-1');
    await world.startHost('host-2', ['all']);
    expect(await world.runUntilDone(120_000)).toBe(true);
    expect(recordsOf(world, first, 'session.opened').length).toBeGreaterThan(1);
    await expectOnce(world, parent);
  });
});

const openedMs = async (world: MemoryWorld, { session }: Published): Promise<number> =>
  (await eventsOf(world, session)).find(({ type }) => type === 'session.opened')?.atMs ?? 0;

/** When the last session of the family that ran under the key closed. */
async function closedMs(world: MemoryWorld, parent: Published): Promise<number> {
  const ends = await Promise.all(
    sessionsOf(parent).map(async (session) => {
      const closed = (await eventsOf(world, session)).filter(
        ({ type }) => type === 'session.closed',
      );
      expect(closed).toHaveLength(1);
      return closed[0]?.atMs ?? Number.POSITIVE_INFINITY;
    }),
  );
  return Math.max(...ends);
}

describe("a child with its parent's key", () => {
  const key = { key: 'customer-7' };

  test('does not wait for the key that its parent holds, and who is next does', async () => {
    const world = await start(4_000);
    const parent = publishSpread(world, letters, key);
    await world.clock.run(100);
    const next = world.publishGoal({ goal: 'say it', plan: 'echo', inputs: { said: 'x' }, ...key });
    expect(await world.runUntilDone(120_000)).toBe(true);
    expect(world.results()).toMatchObject([{ status: 'completed' }, { goalId: next.goalId }]);
    expect(await openedMs(world, next)).toBeGreaterThanOrEqual(await closedMs(world, parent));
  });

  test('keeps it from others until it has ended, also where its parent is cancelled', async () => {
    const world = await start(300_000);
    const parent = publishSpread(world, letters, key);
    expect(await world.clock.run(15_000, () => world.started.length === 5)).toBe(true);
    const next = world.publishGoal({ goal: 'say it', plan: 'echo', inputs: { said: 'x' }, ...key });
    await world.clock.run(5_000);
    expect(recordsOf(world, next.session, 'session.opened')).toEqual([]);
    world.publishCancel(parent.goalId);
    expect(await world.runUntilDone(120_000)).toBe(true);
    expect(world.results().map(({ status }) => status)).toEqual(['cancelled', 'completed']);
    expect(await openedMs(world, next)).toBeGreaterThanOrEqual(await closedMs(world, parent));
  });
});
