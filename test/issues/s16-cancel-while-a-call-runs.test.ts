// Source: letta 3176, a cancel left something open, and the conversation was busy for ever.
import { expect, test } from 'vitest';
import { MemoryWorld } from '../support/memory-world.ts';
import { startsOf, statusesOf, WorldProof } from '../support/world-proof.ts';

const rest = ['intake', 'planner', 'supervisor', 'worker-pool', 'tool-guard', 'aggregator'];
const runners = ['tool-runner', 'model-gateway'];
const hosts = [rest, runners];
const counted = { plan: 'count', inputs: { counter: 'one' } };
const never = () => ({ never: true }) as const;

type Case = Readonly<{ what: string; goal: object; tool: string; slowModel?: boolean }>;
const cases: readonly Case[] = [
  {
    what: 'reading tool',
    goal: { plan: 'count', inputs: { counter: 'one', waitMs: 60_000 } },
    tool: 'test.wait',
  },
  { what: 'writing tool', goal: counted, tool: 'test.count' },
  { what: 'model', goal: { plan: 'ask' }, tool: 'scripted/tester', slowModel: true },
];

async function worldWith({ goal, tool, slowModel }: Case) {
  const world = await MemoryWorld.start({
    hosts,
    tools: { [tool]: never },
    model: () => ({ text: 'Late.', afterMs: slowModel === true ? 15_000 : 20 }),
  });
  const held = world.publishGoal({ id: 'held', goal: 'Hold on.', key: 'one', ...goal });
  expect(await world.clock.run(10_000, () => startsOf(world, tool) === 1)).toBe(true);
  world.publishGoal({ id: 'next', goal: 'Go on.', plan: 'echo', key: 'one' });
  await world.clock.run(1_000);
  expect(startsOf(world, 'test.echo')).toBe(0);
  return { world, held };
}

async function expectFreed(world: MemoryWorld, tool: string) {
  expect(statusesOf(world)).toEqual({ held: 'cancelled', next: 'completed' });
  expect(world.results()).toHaveLength(2);
  expect(startsOf(world, tool)).toBe(1);
  expect(startsOf(world, 'test.echo')).toBe(1);
  expect(world.unclosed()).toEqual([]);
}

test.each(cases)('a cancel while a $what is busy frees the key within a second', async (one) => {
  const { world, held } = await worldWith(one);
  const askedAtMs = world.clock.nowMs();
  world.publishCancel('held');
  expect(await world.runUntilDone(1_000)).toBe(true);
  await expectFreed(world, one.tool);
  const proof = await WorldProof.of(world, held);
  expect(proof.order('session.cancelled', 'session.completed', 'session.closed')).toEqual([
    ...['session.cancelled', 'session.closed'],
  ]);
  const ends = [...proof.all('tool.failed'), ...proof.all('model.failed')];
  expect(ends).toHaveLength(1);
  expect((ends[0]?.atMs ?? 0) - askedAtMs).toBeLessThanOrEqual(1_000);
});

test.each(cases)(
  'a cancel while the host of a $what is dead does not keep the key',
  async (one) => {
    const { world, held } = await worldWith(one);
    world.crash('host-2');
    world.publishCancel('held');
    await world.clock.run(2_000);
    await world.startHost('host-3', runners);
    expect(await world.runUntilDone(30_000)).toBe(true);
    await expectFreed(world, one.tool);
    const proof = await WorldProof.of(world, held);
    const [unseen, ...others] = [...proof.all('tool.unknown'), ...proof.all('model.denied')];
    expect(others).toEqual([]);
    const claims = [...proof.all('tool.claimed'), ...proof.all('model.claimed')];
    expect(claims.filter(({ data }) => data.call === unseen?.data.call)).toHaveLength(1);
  },
);
