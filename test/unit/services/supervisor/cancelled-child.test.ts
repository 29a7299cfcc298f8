import { describe, expect, test } from 'vitest';
import { Harness } from '../../../../services/client/index.ts';
import { childOf, familyProof, publishSpread, spreadWorld } from '../../../support/child-worlds.ts';
import type { FakeTool } from '../../../support/memory-effects.ts';
import type { MemoryWorld } from '../../../support/memory-world.ts';

/** One child session is called off, and its goal goes on without it. */

const letters = ['a', 'b', 'c', 'd', 'e'];

/** The first child's branches never end by themselves; those of the others take a second. */
const slow: FakeTool = ({ arguments: given }) => {
  const { name } = given as { name: string };
  return { result: { name }, afterMs: name === 'a' || name === 'b' ? 500_000 : 1_000 };
};

async function running(policy: string, more: { parallelMax?: number } = {}) {
  const { parallelMax = 8 } = more;
  const fanOut = `parallelMax: ${parallelMax}, onBranchFailure: ${policy}, substitute: =failure.code`;
  const tools = { 'test.flaky': slow };
  const world = await spreadWorld({ fanOut, task: 'timeoutMs: 600000' }, { tools });
  const goal = publishSpread(world, letters);
  const harness = new Harness({ log: world.connect('client') });
  expect(await world.clock.run(15_000, () => world.started.length >= 2)).toBe(true);
  const cancel = (child: string) =>
    world.during(harness.cancel(goal.session, { child, reason: 'stuck', requestedBy: 'mary' }));
  return { world, goal, cancel, close: () => harness.close() };
}

async function end(world: MemoryWorld) {
  expect(await world.runUntilDone(120_000)).toBe(true);
  const [result] = world.results();
  return result;
}

describe('a child that is called off', () => {
  test.each([
    ['continue', [null, null]],
    ['substitute', ['SESSION_CANCELLED', 'SESSION_CANCELLED']],
  ])('counts as branches that failed (%s), and the others go on', async (policy, lost) => {
    const { world, goal, cancel, close } = await running(policy);
    const first = childOf(goal, 1).session;
    await cancel(first);
    await cancel(first);
    const rest = ['c', 'd', 'e'].map((name) => ({ name }));
    expect(await end(world)).toMatchObject({
      ...{ status: 'completed', output: { each: [...lost, ...rest] } },
    });
    const { parent, children } = await familyProof(world, goal, 3);
    const told = parent.all('child.cancelled').map(({ data }) => [data.child, data.requestedBy]);
    expect(told).toEqual([[first, 'mary']]);
    const ends = children.map((one) => one.all('result.published')[0]?.data.status);
    expect(ends).toEqual(['cancelled', 'completed', 'completed']);
    expect(children[0]?.all('session.closed')).toHaveLength(1);
    await close();
  });

  test('fails its task where that may not be, and the others are stopped', async () => {
    const { world, goal, cancel, close } = await running('fail');
    await cancel(childOf(goal, 1).session);
    expect(await end(world)).toMatchObject({ status: 'failed', error: { task: 'each' } });
    await familyProof(world, goal, 3);
    await close();
  });
});

describe('nothing happens', () => {
  test('where the session has no such child, or it has ended', async () => {
    const { world, goal, cancel, close } = await running('continue');
    await cancel('ses_00000000000000000000000000000000');
    await world.clock.run(3_000);
    await cancel(childOf(goal, 3).session);
    await world.clock.run(3_000);
    await cancel(childOf(goal, 1).session);
    const rest = ['c', 'd', 'e'].map((name) => ({ name }));
    expect(await end(world)).toMatchObject({ output: { each: [null, null, ...rest] } });
    const { parent, children } = await familyProof(world, goal, 3);
    expect(parent.all('child.cancelled')).toHaveLength(1);
    expect(children[2]?.all('result.published')[0]?.data.status).toBe('completed');
    await close();
  });

  test('where the goal is over', async () => {
    const { world, goal, cancel, close } = await running('continue');
    world.publishCancel(goal.goalId);
    expect(await end(world)).toMatchObject({ status: 'cancelled' });
    await cancel(childOf(goal, 1).session);
    await world.clock.run(5_000);
    expect(world.results()).toHaveLength(1);
    expect(world.fatal).toEqual([]);
    await close();
  });
});
