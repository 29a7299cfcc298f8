import { expect, test } from 'vitest';
import { callOf, tally, told } from '../../../support/giving-agents.ts';
import type { FakeModel } from '../../../support/memory-models.ts';
import { MemoryWorld } from '../../../support/memory-world.ts';
import { People } from '../../../support/people.ts';
import { catalogWith, startsOf, statusesOf, WorldProof } from '../../../support/world-proof.ts';

/** What holds for tasks of the plan holds for those that agents make. */

const giver = (to: string, more = '') => `
kind: model
name: giver
version: 1.0.0
description: Gives work to another.
role: tester
tools: [test.count, ask_person, delegate]
model: scripted/giver
prompt: Give.
delegates: { agents: [${to}], ${more} }
`;

const asker = `
kind: procedure
name: gate-asker
version: 1.0.0
description: Asks a person.
role: tester
tools: [ask_person]
steps:
  - { id: ask, tool: ask_person, arguments: { question: May it be? } }
output: =steps.ask.answer
`;

const sleeper = `
kind: model
name: sleeper
version: 1.0.0
description: Answers late.
role: tester
model: scripted/sleeper
prompt: Sleep.
`;

const plan = (task: string, pool = 'test') => `
name: giving
version: 1.0.0
description: One task.
tasks:
  - { id: one, pool: ${pool}, agent: giver, ${task} }
output: { kind: collect, shape: =tasks.one }
`;

/** Gives work once, and says what it was told. */
const gives =
  (to: string): FakeModel =>
  (request) => {
    if (request.model === 'scripted/sleeper') return { text: 'late', afterMs: 60_000 };
    if (told(request).length > 0) return { text: JSON.stringify(told(request)) };
    const given = { agent: to, goal: 'Do it.', input: { counter: 'a' } };
    return { text: '', calls: [callOf('delegate', given)] };
  };

async function started(files: Readonly<Record<string, string>>, model: FakeModel) {
  const world = await MemoryWorld.start({ catalog: catalogWith(files), model });
  return { world, goal: world.publishGoal({ id: 'g', goal: 'Do it.', plan: 'giving' }) };
}

test('while a delegate waits for a person, the time of all who wait for it stands still', async () => {
  const files = {
    'agents/giver.yaml': giver('gate-asker'),
    'agents/gate-asker.yaml': asker,
    'plans/giving.yaml': plan('timeoutMs: 5000'),
  };
  const { world, goal } = await started(files, gives('gate-asker'));
  const people = new People(world);
  const asked = await people.asked();
  await world.clock.run(60_000);
  await people.answer(asked, { decision: 'answered', answer: 'yes', by: 'ann' });
  expect(await world.runUntilDone()).toBe(true);
  expect(world.results()[0]).toMatchObject({ status: 'completed', output: '["yes"]' });
  const proof = await WorldProof.of(world, goal);
  expect(proof.all('task.timed-out')).toEqual([]);
});

test('a delegate that is out of its own time fails, and who waits for it goes on', async () => {
  const files = {
    'agents/giver.yaml': giver('sleeper', 'timeoutMs: 3000'),
    'agents/sleeper.yaml': sleeper,
    'plans/giving.yaml': plan('timeoutMs: 50000, attemptsMax: 1'),
  };
  const { world, goal } = await started(files, gives('sleeper'));
  expect(await world.runUntilDone()).toBe(true);
  expect(world.results()[0]).toMatchObject({ status: 'completed' });
  const proof = await WorldProof.of(world, goal);
  expect(proof.all('task.timed-out').map(({ data }) => data.task)).toEqual(['one/1']);
  expect(proof.all('delegation.settled').map(({ data }) => data.code)).toEqual(['TASK_TIMED_OUT']);
});

test('a cancel of the goal stops the delegates too, and nothing is asked after it', async () => {
  const files = {
    'agents/giver.yaml': giver('sleeper'),
    'agents/sleeper.yaml': sleeper,
    'plans/giving.yaml': plan('timeoutMs: 500000'),
  };
  const { world, goal } = await started(files, gives('sleeper'));
  await world.clock.run(5_000, () => startsOf(world, 'scripted/sleeper') > 0);
  world.publishCancel('g');
  expect(await world.runUntilDone()).toBe(true);
  expect(statusesOf(world)).toEqual({ g: 'cancelled' });
  expect(world.unclosed()).toEqual([]);
  const proof = await WorldProof.of(world, goal);
  expect(proof.all('task.cancelled').map(({ data }) => data.task)).toEqual(['one/1', 'one']);
  expect(proof.all('agent.cancelled').map(({ data }) => data.agent)).toEqual(['one.1', 'one/1.1']);
});

test('a further attempt of who delegated uses what its delegates have found', async () => {
  const files = {
    'agents/giver.yaml': giver('tally'),
    'agents/tally.yaml': tally,
    'plans/giving.yaml': plan('attemptsMax: 2, backoffMs: 100, timeoutMs: 4000'),
  };
  let answers = 0;
  const { world, goal } = await started(files, (request, count) => {
    if (told(request).length === 0) return gives('tally')(request, count);
    answers += 1;
    return { text: 'done', ...(answers === 1 ? { afterMs: 30_000 } : {}) };
  });
  expect(await world.runUntilDone()).toBe(true);
  expect(world.results()[0]).toMatchObject({ status: 'completed', output: 'done' });
  const proof = await WorldProof.of(world, goal);
  expect(proof.all('task.timed-out').map(({ data }) => data.task)).toEqual(['one']);
  expect(proof.all('task.delegated')).toHaveLength(1);
  expect(startsOf(world, 'test.count')).toBe(1);
});

const apart = [
  ...['intake', 'planner', 'supervisor', 'worker-pool:test', 'model-gateway', 'tool-guard'],
  ...['tool-runner', 'sandbox-executor', 'aggregator'],
];

test.each([
  ['one host for all', [['all'], ['all']]],
  ['a host for each service', [...apart.map((service) => [service]), ['all']]],
])('with %s, one that dies while delegates work takes nothing with it', async (_, hosts) => {
  const files = {
    'agents/giver.yaml': giver('sleeper, tally'),
    'agents/sleeper.yaml': sleeper,
    'agents/tally.yaml': tally,
    'plans/giving.yaml': plan('timeoutMs: 500000, attemptsMax: 1'),
  };
  const given = { goal: 'Do it.', input: { counter: 'a' } };
  const calls = ['sleeper', 'tally'].map((agent) => callOf('delegate', { agent, ...given }));
  const world = await MemoryWorld.start({
    catalog: catalogWith(files),
    hosts,
    model: (request, count) =>
      told(request).length === 0 && request.model === 'scripted/giver'
        ? { text: '', calls }
        : gives('')(request, count),
    crashNoticedMs: 3_000,
  });
  const goal = world.publishGoal({
    id: 'g',
    goal: 'Do it.',
    plan: 'giving',
    budgetNanoUsd: 10 ** 9,
  });
  await world.clock.run(20_000, () => startsOf(world, 'scripted/sleeper') > 0);
  world.crash('host-1');
  expect(await world.runUntilDone()).toBe(true);
  expect(world.results()[0]).toMatchObject({ status: 'completed' });
  expect(JSON.parse(String(world.results()[0]?.['output']))).toMatchObject([
    'late',
    { counted: 'a' },
  ]);
  expect(startsOf(world, 'test.count')).toBe(1);
  const proof = await WorldProof.of(world, goal);
  expect(proof.all('task.delegated')).toHaveLength(2);
  expect(proof.all('budget.set-aside')).toHaveLength(2);
  expect(world.unclosed()).toEqual([]);
});

test('a delegate works on the place of who waits for it: a pool of one place is enough', async () => {
  const files = {
    'pools.yaml': '- { name: single, description: One at a time., concurrencyMax: 1 }\n',
    'agents/giver.yaml': giver('tally'),
    'agents/tally.yaml': tally,
    'plans/giving.yaml': plan('timeoutMs: 20000, attemptsMax: 1', 'single'),
  };
  const { world, goal } = await started(files, gives('tally'));
  expect(await world.runUntilDone()).toBe(true);
  expect(world.results()[0]).toMatchObject({ status: 'completed' });
  const proof = await WorldProof.of(world, goal);
  const places = proof.all('permit.requested').flatMap(({ data }) => data.tasks);
  expect(places.map(({ task }) => task)).toEqual(['one']);
});

test('branches in child sessions delegate too, and are paid from the share of their session', async () => {
  const files = {
    'agents/giver.yaml': giver('tally'),
    'agents/tally.yaml': tally,
    'plans/giving.yaml': `
name: giving
version: 1.0.0
description: Two branches, each in a session of its own.
tasks:
  - id: each
    pool: test
    agent: giver
    fanOut: { over: [1, 2], itemsMax: 2, spread: { above: 0, perSession: 1 } }
output: { kind: collect, shape: =tasks.each }
`,
  };
  const world = await MemoryWorld.start({ catalog: catalogWith(files), model: gives('tally') });
  world.publishGoal({ id: 'g', goal: 'Do it.', plan: 'giving', budgetNanoUsd: 10 ** 9 });
  expect(await world.runUntilDone()).toBe(true);
  const [result] = world.results();
  expect(result).toMatchObject({ status: 'completed' });
  expect(JSON.stringify(result?.['output']).match(/counted/g)).toHaveLength(2);
  expect(startsOf(world, 'test.count')).toBe(2);
  expect(world.unclosed()).toEqual([]);
});
