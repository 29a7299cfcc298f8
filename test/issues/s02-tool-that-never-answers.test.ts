// Source: restate 5196, an attempt that hung was never scheduled again and held its key for ever.
import { expect, test } from 'vitest';
import { MemoryWorld } from '../support/memory-world.ts';
import { catalogWith, startsOf, statusesOf, WorldProof } from '../support/world-proof.ts';

const catalog = () =>
  catalogWith({
    'plans/once.yaml': `
name: once
version: 1.0.0
description: One task that is tried once.
tasks:
  - { id: try, pool: test, agent: flaky, input: { name: thing }, attemptsMax: 1 }
`,
  });

/** Runs until the tool hangs, and lets another goal of the same key wait behind it. */
async function untilHung(world: MemoryWorld, tool: string): Promise<void> {
  expect(await world.clock.run(10_000, () => startsOf(world, tool) === 1)).toBe(true);
  world.publishGoal({ id: 'next', goal: 'Go on.', plan: 'echo', key: 'one' });
  await world.clock.run(1_000);
  expect(startsOf(world, 'test.echo')).toBe(0);
}

test('a reading tool that never answers fails at its deadline and frees its key', async () => {
  const world = await MemoryWorld.start({
    catalog: catalog(),
    tools: { 'test.flaky': () => ({ never: true }) },
  });
  const hung = world.publishGoal({ id: 'hung', goal: 'Hang.', plan: 'once', key: 'one' });
  await untilHung(world, 'test.flaky');
  expect(await world.runUntilDone(60_000)).toBe(true);
  expect(statusesOf(world)).toEqual({ hung: 'failed', next: 'completed' });
  const proof = await WorldProof.of(world, hung);
  const [claim] = proof.all('tool.claimed');
  const [failure] = proof.all('tool.failed');
  expect(failure?.data).toMatchObject({ class: 'timeout', call: claim?.data.call });
  expect((failure?.atMs ?? 0) - (claim?.data.deadlineAtMs ?? 0)).toBeLessThanOrEqual(2_000);
  expect(startsOf(world, 'test.flaky')).toBe(1);
  expect(startsOf(world, 'test.echo')).toBe(1);
});

test('a writing tool whose end nobody saw is unknown, runs once and frees its key', async () => {
  const unseen = { afterMs: 5_000, unknown: 'No answer came before the deadline.' };
  const world = await MemoryWorld.start({ tools: { 'test.count': () => unseen } });
  const inputs = { counter: 'one' };
  const hung = world.publishGoal({ id: 'hung', goal: 'Hang.', plan: 'count', key: 'one', inputs });
  await untilHung(world, 'test.count');
  expect(await world.runUntilDone(60_000)).toBe(true);
  expect(statusesOf(world)).toEqual({ hung: 'failed', next: 'completed' });
  const proof = await WorldProof.of(world, hung);
  expect(proof.all('tool.unknown')).toHaveLength(1);
  expect(proof.all('task.failed').map(({ data }) => data.class)).toEqual(['unknown-outcome']);
  expect(startsOf(world, 'test.count')).toBe(1);
});

test.each([
  ['a reading tool', 'test.flaky', 'once', 'tool.failed'],
  ['a writing tool', 'test.count', 'count', 'tool.unknown'],
] as const)('%s that hangs on a host that dies does not keep the key', async (...row) => {
  const [, tool, plan, end] = row;
  const world = await MemoryWorld.start({
    catalog: catalog(),
    tools: { [tool]: () => ({ never: true }) },
  });
  const inputs = plan === 'count' ? { counter: 'one' } : {};
  const hung = world.publishGoal({ id: 'hung', goal: 'Hang.', plan, key: 'one', inputs });
  await untilHung(world, tool);
  world.crash('host-1');
  await world.startHost('host-2', ['all']);
  expect(await world.runUntilDone(120_000)).toBe(true);
  expect(statusesOf(world)).toEqual({ hung: 'failed', next: 'completed' });
  const proof = await WorldProof.of(world, hung);
  expect(proof.all(end)).toHaveLength(1);
  expect(startsOf(world, tool)).toBe(end === 'tool.unknown' ? 1 : 2);
});
