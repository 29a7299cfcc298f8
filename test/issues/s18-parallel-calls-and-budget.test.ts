// Source: litellm 34732, parallel requests passed the budget check before spending was recorded.
import { expect, test } from 'vitest';
import { MemoryWorld } from '../support/memory-world.ts';
import { catalogWith, startsOf, statusesOf, WorldProof } from '../support/world-proof.ts';

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

const giving = {
  'agents/giver.yaml': `
kind: model
name: giver
version: 1.0.0
description: Has fifty others ask.
role: tester
tools: [delegate]
model: scripted/giver
prompt: Give.
delegates: { agents: [speaker], parallelMax: 50, countMax: 50 }
`,
  'agents/speaker.yaml': `
kind: model
name: speaker
version: 1.0.0
description: Says yes.
role: tester
model: scripted/tester
prompt: Say yes.
`,
  'plans/giving.yaml': `
name: giving
version: 1.0.0
description: One task, whose agent delegates.
tasks: [{ id: one, pool: test, agent: giver, attemptsMax: 1 }]
`,
};

test('fifty delegates at once spend no more than there is, and each no more than its part', async () => {
  const budgetNanoUsd = 12 * mostNanoUsd;
  const world = await MemoryWorld.start({
    catalog: catalogWith(giving),
    model: ({ model, messages }) => {
      if (model !== 'scripted/giver' || messages.some(({ role }) => role === 'tool'))
        return { text: 'Yes.', afterMs: 1_000 };
      const calls = Array.from({ length: 50 }, (_, index) => ({
        name: 'delegate',
        arguments: { agent: 'speaker', goal: `Ask ${index}.`, budgetPercent: 25 },
      }));
      return { text: '', calls };
    },
  });
  const goal = world.publishGoal({ id: 'g', goal: 'Give.', plan: 'giving', budgetNanoUsd });
  expect(await world.runUntilDone()).toBe(true);
  const proof = await WorldProof.of(world, goal);
  const aside = proof.all('budget.set-aside').map(({ data }) => data.setAsideNanoUsd);
  expect(aside).toHaveLength(50);
  expect(aside.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(budgetNanoUsd);
  // At some point a part of what is left is less than a call may cost.
  const asked = startsOf(world, 'scripted/tester');
  expect(asked).toBe(aside.filter((one) => one >= mostNanoUsd).length);
  expect(asked).toBeGreaterThan(2);
  expect(proof.all('delegation.settled').map(({ data }) => data.outcome)).toEqual(
    expect.arrayContaining(['completed', 'failed']),
  );
  expect(statusesOf(world)).toEqual({ g: 'completed' });
});
