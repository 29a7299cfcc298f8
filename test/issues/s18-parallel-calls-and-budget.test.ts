// Source: litellm 34732, parallel requests passed the budget check before spending was recorded.
import { expect, test } from 'vitest';
import { MemoryWorld } from '../support/memory-world.ts';
import { startsOf, statusesOf, WorldProof } from '../support/world-proof.ts';

/** A call may cost 2,500 at most and really costs 1,004. */
const mostNanoUsd = 2_500;
const costNanoUsd = 1_004;

async function played(budgetNanoUsd: number, crashAfterMs?: number) {
  const hosts = [['all'], ['all']];
  const world = await MemoryWorld.start({
    hosts,
    model: () => ({ text: 'Yes.', afterMs: 2_000 }),
    crashNoticedMs: 3_000,
  });
  const goal = world.publishGoal({
    id: 'ask',
    goal: 'Ask.',
    plan: 'fifty-questions',
    budgetNanoUsd,
  });
  if (crashAfterMs !== undefined) {
    await world.clock.run(crashAfterMs);
    world.crash('host-1');
  }
  expect(await world.runUntilDone()).toBe(true);
  return { world, proof: await WorldProof.of(world, goal) };
}

/** The most that was under way at once, by the order of the log. */
function mostOpen(proof: WorldProof): number {
  let [open, most] = [0, 0];
  for (const { type } of proof.events) {
    if (type === 'model.claimed') open += 1;
    if (type === 'model.completed' || type === 'model.failed') open -= 1;
    most = Math.max(most, open);
  }
  return most;
}

test('of 50 parallel calls with a budget for 5 at most 5 go out at once, and none beyond the money', async () => {
  const { world, proof } = await played(5 * mostNanoUsd);
  expect(mostOpen(proof)).toBe(5);
  const spent = proof.all('model.completed').length * costNanoUsd;
  expect(spent).toBeLessThanOrEqual(5 * mostNanoUsd);
  expect(startsOf(world, 'scripted/tester')).toBe(proof.all('model.completed').length);
  expect(proof.all('model.denied').length + proof.all('model.completed').length).toBe(50);
  expect(proof.all('model.denied').every(({ data }) => data.code === 'BUDGET_EXHAUSTED')).toBe(
    true,
  );
  expect(Object.keys(statusesOf(world))).toEqual(['ask']);
});

test('a host that dies with money held gives none of it to anybody else', async () => {
  const { proof } = await played(8 * mostNanoUsd, 1_500);
  const held = new Map<string, number>();
  let spent = 0;
  for (const { type, data } of proof.events) {
    const { call, reservedNanoUsd } = data as { call: string; reservedNanoUsd: number };
    if (type === 'budget.reserved') held.set(call, (held.get(call) ?? 0) + reservedNanoUsd);
    if (type === 'model.completed') {
      // What a claim that was lost held may have been spent, and stays taken.
      spent += costNanoUsd + (held.get(call) ?? 0) - mostNanoUsd;
      held.delete(call);
    }
    const open = [...held.values()].reduce((sum, each) => sum + each, 0);
    expect(spent + open).toBeLessThanOrEqual(8 * mostNanoUsd);
  }
  expect(proof.all('budget.reserved').length).toBeGreaterThan(8);
});
