// Hard edge 1b.9.
/** The money of a tenant's day over many sessions, partitions and hosts (DESIGN 7). */
import { expect, test } from 'vitest';
import type { EventType } from '../../../../schemas/event.ts';
import { budgetsTopic } from '../../../../schemas/topics.ts';
import { budgetLogId, sessionId } from '../../../../services/chassis/protocol/ids.ts';
import { dayOf } from '../../../../services/model-gateway/tranche.ts';
import { eventsOf as sessionEvents } from '../../../support/child-worlds.ts';
import { MemoryWorld, type MemoryWorldOptions } from '../../../support/memory-world.ts';
import { eventsOf } from '../../../support/work-fixtures.ts';
import { startsOf, statusesOf, WorldProof } from '../../../support/world-proof.ts';

/** A call may cost 2,500 at most and really costs 1,004. */
const costNanoUsd = 1_004;
const model = () => ({ text: 'Yes.', afterMs: 300 });

type Change = MemoryWorldOptions['change'];

async function played(
  goals: number,
  dayBudget: { limitNanoUsd: number; trancheNanoUsd: number },
  change: Change = (logic) => logic,
) {
  const world = await MemoryWorld.start({
    ...{ hosts: [['all'], ['all']], partitions: 8, model, dayBudget, crashNoticedMs: 3_000 },
    change,
  });
  const published = Array.from({ length: goals }, (_, index) =>
    world.publishGoal({ id: `ask-${index}`, goal: 'Ask.', plan: 'ask', inputs: { question: 'x' } }),
  );
  return { world, published };
}

const budgetLog = (world: MemoryWorld) => ({
  ...{ goalId: '', goalLog: '' },
  session: budgetLogId('default', dayOf(world.clock.nowMs())),
});

test('fifty sessions of one tenant on many partitions never pass the limit of its day', async () => {
  const limitNanoUsd = 20_000;
  const { world, published } = await played(50, { limitNanoUsd, trancheNanoUsd: 2_500 });
  expect(await world.runUntilDone()).toBe(true);
  const calls = startsOf(world, 'scripted/tester');
  expect(calls * costNanoUsd).toBeLessThanOrEqual(limitNanoUsd);
  // What comes back is lent again: far more calls than the most that they might have cost.
  expect(calls).toBeGreaterThanOrEqual(15);
  const statuses = Object.values(statusesOf(world));
  expect(statuses).toHaveLength(50);
  expect(statuses.filter((one) => one === 'completed')).toHaveLength(calls);
  const proof = await WorldProof.of(world, budgetLog(world));
  const spent = proof.all('tranche.returned').reduce((sum, { data }) => sum + data.spentNanoUsd, 0);
  expect(spent).toBe(calls * costNanoUsd);
  const [denied] = await denials(world, published);
  expect(denied).toBe('TENANT_BUDGET_EXHAUSTED');
});

async function denials(world: MemoryWorld, published: Parameters<typeof WorldProof.of>[1][]) {
  const proofs = await Promise.all(published.map((one) => WorldProof.of(world, one)));
  return proofs.flatMap((proof) => proof.all('model.denied').map(({ data }) => data.code));
}

test('a session asks once, and spends with no further word to the budget log', async () => {
  const world = await MemoryWorld.start({
    ...{ model, dayBudget: { limitNanoUsd: 1_000_000, trancheNanoUsd: 500_000 } },
  });
  const goal = world.publishGoal({ id: 'fifty', goal: 'Ask.', plan: 'fifty-questions' });
  expect(await world.runUntilDone()).toBe(true);
  const proof = await WorldProof.of(world, goal);
  expect(proof.all('model.completed')).toHaveLength(50);
  expect(proof.order('budget.requested', 'budget.granted', 'budget.returned')).toEqual([
    'budget.requested',
    'budget.granted',
    'budget.returned',
  ]);
  expect(proof.all('budget.returned')[0]?.data).toMatchObject({
    ...{ lentNanoUsd: 500_000, spentNanoUsd: 50 * costNanoUsd },
  });
  expect(world.records(budgetsTopic).length).toBeLessThan(8);
});

test('a host that is killed strands nothing: the next one gives back what is left', async () => {
  const { world } = await played(6, { limitNanoUsd: 60_000, trancheNanoUsd: 10_000 });
  await world.clock.run(900);
  world.crash('host-1');
  expect(await world.runUntilDone()).toBe(true);
  const proof = await WorldProof.of(world, budgetLog(world));
  const lent = proof.all('tranche.lent').map(({ data }) => data.session);
  const returned = proof.all('tranche.returned').map(({ data }) => data.session);
  expect(new Set(returned)).toEqual(new Set(lent));
});

test('a call that is given up in an ended session gives its money back in the same turn', async () => {
  const { world, published } = await played(1, { limitNanoUsd: 60_000, trancheNanoUsd: 10_000 });
  const claimed = () => startsOf(world, 'scripted/tester') > 0;
  expect(await world.clock.run(60_000, claimed)).toBe(true);
  const [goal] = published;
  world.publishCancel(goal?.goalId ?? '');
  for (const { name } of [...world.hosts]) world.crash(name);
  await world.startHost('host-3', ['all']);
  expect(await world.runUntilDone()).toBe(true);
  const proof = await WorldProof.of(world, goal as never);
  // Nobody saw what the call cost: it may have been all that it held.
  expect(proof.all('budget.returned')[0]?.data.spentNanoUsd).toBe(2_500);
});

test('a tranche that comes when the session has ended goes back, and the session closes after that', async () => {
  const { world, published } = await played(1, { limitNanoUsd: 60_000, trancheNanoUsd: 10_000 });
  const [goal] = published;
  if (goal === undefined) throw new Error('no goal');
  const asked = () =>
    world.records(budgetsTopic).some(({ headers }) => headers['lr_types'] === 'tranche.requested');
  expect(await world.clock.run(60_000, asked)).toBe(true);
  world.publishCancel(goal.goalId);
  expect(await world.runUntilDone()).toBe(true);
  const proof = await WorldProof.of(world, goal);
  const order = proof.order(
    'budget.requested',
    'budget.granted',
    'budget.returned',
    'session.closed',
  );
  expect(order).toEqual([
    'budget.requested',
    'budget.granted',
    'budget.returned',
    'session.closed',
  ]);
});

/** A gateway that cannot decide in a session any more once it was told this of it. */
const failing =
  (session: string, after: EventType): Change =>
  (logic) => {
    if (logic.name !== 'model-gateway') return logic;
    return {
      ...logic,
      decide(state, input) {
        const isDue = input.causes.some(({ type }) => type === after);
        if (isDue && input.session.session === session) throw new Error('broken');
        return logic.decide(state, input);
      },
    };
  };

test.each([
  // It has borrowed, and asked nothing yet.
  ['budget.granted', 0],
  // It was answered, and the money of that is spent.
  ['model.completed', costNanoUsd],
] as const)(
  'a gateway that cannot decide any more after %s strands nothing but what was spent',
  async (after, spentNanoUsd) => {
    const tranche = { limitNanoUsd: 10_000, trancheNanoUsd: 5_000 };
    const doomed = sessionId('default', 'world', 'ask-0');
    const { world, published } = await played(12, tranche, failing(doomed, after));
    expect(await world.runUntilDone()).toBe(true);
    // What is broken here decides otherwise than what proves it: its log is only read.
    const events = await sessionEvents(world, doomed);
    expect(eventsOf(events, 'decision.failed').map(({ data }) => data.service)).toEqual([
      'model-gateway',
    ]);
    expect(eventsOf(events, 'budget.returned').map(({ data }) => data.spentNanoUsd)).toEqual([
      spentNanoUsd,
    ]);
    const calls = startsOf(world, 'scripted/tester');
    // The others get all of the rest: no more than one call that might have cost too much is left.
    const left = tranche.limitNanoUsd - calls * costNanoUsd;
    expect(left).toBeGreaterThanOrEqual(0);
    expect(left).toBeLessThan(2_500);
    // Nobody waits for money that cannot come back.
    const codes = await denials(world, published.slice(1));
    expect(new Set(codes)).toEqual(new Set(['TENANT_BUDGET_EXHAUSTED']));
  },
);
