// Source: xstate 5331, a restored machine had lost its delayed transition and hung.
import { expect, test } from 'vitest';
import { MemoryWorld } from '../support/memory-world.ts';
import { catalogWith, startsOf, statusesOf, WorldProof } from '../support/world-proof.ts';

const rest = ['intake', 'planner', 'worker-pool', 'tool-guard', 'tool-runner', 'aggregator'];

const catalog = () =>
  catalogWith({
    'plans/later.yaml': `
name: later
version: 1.0.0
description: One task that is tried again after a long wait.
tasks:
  - { id: try, pool: test, agent: flaky, input: { name: thing }, attemptsMax: 2, backoffMs: 60000 }
`,
  });

/** A world whose supervisor, alone on its host, waits for the second attempt. */
async function waitingWorld() {
  const world = await MemoryWorld.start({
    catalog: catalog(),
    hosts: [rest, ['supervisor']],
    tools: { 'test.flaky': (_, count) => (count === 1 ? { failure: {} } : { result: {} }) },
  });
  const goal = world.publishGoal({ id: 'later', goal: 'Later.', plan: 'later' });
  expect(await world.clock.run(5_000, () => startsOf(world, 'test.flaky') === 1)).toBe(true);
  await world.clock.run(1_000);
  return { world, goal };
}

async function firedOnce(
  world: MemoryWorld,
  goal: Awaited<ReturnType<typeof waitingWorld>>['goal'],
) {
  expect(await world.runUntilDone()).toBe(true);
  expect(statusesOf(world)).toEqual({ later: 'completed' });
  expect(startsOf(world, 'test.flaky')).toBe(2);
  const proof = await WorldProof.of(world, goal);
  const [retry] = proof.all('task.retry-scheduled');
  const dueAtMs = retry?.data.dueAtMs ?? 0;
  const set = proof.all('timer.set').filter(({ data }) => data.timer.includes('/retry/'));
  expect(set.map(({ data }) => data.dueAtMs)).toEqual([dueAtMs]);
  const fired = proof.all('timer.fired').filter(({ data }) => data.timer.includes('/retry/'));
  expect(fired).toHaveLength(1);
  return { dueAtMs, firedAtMs: fired[0]?.atMs ?? 0, ranAtMs: world.started.at(-1)?.atMs ?? 0 };
}

test('a delay that outlives its supervisor twice ends at its first deadline', async () => {
  const { world, goal } = await waitingWorld();
  world.crash('host-2');
  await world.clock.run(8_000);
  await world.startHost('host-3', ['supervisor']);
  await world.clock.run(5_000);
  world.crash('host-3');
  await world.startHost('host-4', ['supervisor']);
  const { dueAtMs, firedAtMs, ranAtMs } = await firedOnce(world, goal);
  expect(firedAtMs).toBeGreaterThanOrEqual(dueAtMs);
  expect(ranAtMs - dueAtMs).toBeLessThanOrEqual(100);
});

test('a delay that ends while no supervisor is there ends as soon as there is one', async () => {
  const { world, goal } = await waitingWorld();
  world.crash('host-2');
  await world.clock.run(200_000);
  expect(startsOf(world, 'test.flaky')).toBe(1);
  const backAtMs = world.clock.nowMs();
  await world.startHost('host-3', ['supervisor']);
  const { dueAtMs, firedAtMs, ranAtMs } = await firedOnce(world, goal);
  expect(dueAtMs).toBeLessThan(backAtMs);
  expect(firedAtMs).toBeGreaterThanOrEqual(backAtMs);
  expect(ranAtMs - backAtMs).toBeLessThanOrEqual(2_000);
});
