import { expect, test } from 'vitest';
import { History } from '../../../../replay-tools/read/history.ts';
import { judgeSession } from '../../../../replay-tools/read/session.ts';
import { whyOf } from '../../../../replay-tools/why/why.ts';
import type { JsonValue } from '../../../../schemas/json.ts';
import { partitionOf } from '../../../../services/chassis/log/partition.ts';
import {
  childOf,
  eventsOf,
  familyProof,
  publishSpread,
  spreadWorld,
} from '../../../support/child-worlds.ts';
import type { FakeTool } from '../../../support/memory-effects.ts';
import { sourceFromWorld } from '../../../support/world-session.ts';

const costNanoUsd = 1_004;
const letters = ['a', 'b', 'c', 'd', 'e'];

/** Fails for the names that are listed. */
const failing =
  (...names: readonly string[]): FakeTool =>
  ({ arguments: given }) => {
    const name = String((given as Readonly<Record<string, JsonValue>>)['name']);
    return names.includes(name) ? { failure: { message: `no ${name}` } } : { result: { name } };
  };

test('a wide fan-out runs in child sessions on other partitions, and its results are joined in order', async () => {
  const world = await spreadWorld({}, { tools: { 'test.flaky': failing() } });
  const goal = publishSpread(world, letters);
  expect(await world.runUntilDone()).toBe(true);
  expect(world.results()).toMatchObject([
    {
      goalId: goal.goalId,
      status: 'completed',
      output: { each: letters.map((name) => ({ name })) },
    },
  ]);
  const { parent, children } = await familyProof(world, goal, 3);
  expect(parent.all('task.spread').map(({ data }) => data)).toMatchObject([
    { branches: 5, sessions: 3 },
  ]);
  expect(parent.all('task.scheduled')).toEqual([]);
  expect(children.flatMap((one) => one.all('task.scheduled').map(({ data }) => data.task))).toEqual(
    [...['each:1', 'each:2', 'each:1', 'each:2', 'each:1']],
  );
  for (const child of children) {
    expect(child.all('session.opened')[0]?.data.parent).toMatchObject({
      session: goal.session,
      task: 'each',
    });
    expect(child.all('session.closed')).toHaveLength(1);
  }
  const partitions = children.map((_, index) => partitionOf(childOf(goal, index + 1).session, 4));
  expect(new Set(partitions).size).toBeGreaterThan(1);
});

test.each([
  ['fail', 'failed'],
  ['continue', 'completed'],
  ['substitute', 'completed'],
])('a branch that fails in a child counts by the policy %s', async (policy, status) => {
  const fanOut = `parallelMax: 8, onBranchFailure: ${policy}, substitute: { none: =failure.code, of: =item }`;
  const world = await spreadWorld({ fanOut }, { tools: { 'test.flaky': failing('b') } });
  const goal = publishSpread(world, letters);
  expect(await world.runUntilDone()).toBe(true);
  const [result] = world.results();
  expect(result).toMatchObject({ status });
  const instead = { continue: null, substitute: { none: 'TOOL_BROKE', of: 'b' } }[policy] ?? null;
  if (status === 'completed')
    expect(result?.['output']).toEqual({
      each: letters.map((name) => (name === 'b' ? instead : { name })),
    });
  else expect(JSON.stringify(result?.['error'])).toContain('needs 5 of 5 branches; 1 failed: ');
  await familyProof(world, goal, 3);
});

test('the first of all branches wins, and the children of the others end', async () => {
  const slow: FakeTool = (call) => {
    const { name } = call.arguments as { name: string };
    return { result: { name }, afterMs: name === 'd' ? 50 : 30_000 };
  };
  const world = await spreadWorld(
    { fanOut: 'parallelMax: 8, until: first', task: 'timeoutMs: 60000' },
    { tools: { 'test.flaky': slow } },
  );
  const goal = publishSpread(world, letters);
  expect(await world.runUntilDone()).toBe(true);
  expect(world.results()).toMatchObject([{ status: 'completed', output: { each: { name: 'd' } } }]);
  const { parent, children } = await familyProof(world, goal, 3);
  expect(parent.all('child.cancelled')).toHaveLength(2);
  expect(children.map((one) => one.all('result.published')[0]?.data.status).sort()).toEqual([
    ...['cancelled', 'cancelled', 'completed'],
  ]);
});

test('a quorum is reached over several children; what is not begun is never opened', async () => {
  const fanOut = 'parallelMax: 1, until: quorum, quorum: 3, onBranchFailure: continue';
  const world = await spreadWorld({ fanOut }, { tools: { 'test.flaky': failing('a') } });
  const goal = publishSpread(world, letters);
  expect(await world.runUntilDone()).toBe(true);
  expect(world.results()).toMatchObject([
    { output: { each: [null, { name: 'b' }, { name: 'c' }, { name: 'd' }, null] } },
  ]);
  const { parent } = await familyProof(world, goal, 2);
  expect(parent.all('child.opened')).toHaveLength(2);
});

test('a branch without an input is lost without a child', async () => {
  const items = '{ name: "=$lowercase(item)" }';
  const world = await spreadWorld(
    { items, fanOut: 'parallelMax: 8, onBranchFailure: continue' },
    { tools: { 'test.flaky': failing() } },
  );
  const goal = publishSpread(world, ['a', 2, 'c', 'd', 'e']);
  expect(await world.runUntilDone()).toBe(true);
  expect(world.results()).toMatchObject([
    { output: { each: [{ name: 'a' }, null, { name: 'c' }, { name: 'd' }, { name: 'e' }] } },
  ]);
  const { parent } = await familyProof(world, goal, 2);
  expect(parent.all('task.spread')[0]?.data.sessions).toBe(2);
});

const stuck: FakeTool = () => ({ result: {}, afterMs: 500_000 });
const long = 'timeoutMs: 600000';

test.each(['cancel', 'deadline'])('a %s of the parent reaches every child', async (how) => {
  const world = await spreadWorld({ task: long }, { tools: { 'test.flaky': stuck } });
  const goal = publishSpread(world, letters, how === 'deadline' ? { timeoutMs: 20_000 } : {});
  const begun = () => world.started.length === 5;
  expect(await world.clock.run(15_000, begun)).toBe(true);
  if (how === 'cancel') world.publishCancel(goal.goalId);
  expect(await world.runUntilDone(60_000)).toBe(true);
  expect(world.results()).toMatchObject([{ status: how === 'cancel' ? 'cancelled' : 'failed' }]);
  const { parent, children } = await familyProof(world, goal, 3);
  expect(parent.order('child.ended', 'result.published', 'session.closed')).toEqual([
    ...['child.ended', 'child.ended', 'child.ended', 'result.published', 'session.closed'],
  ]);
  for (const child of children) expect(child.all('session.closed')).toHaveLength(1);
});

test('a child that nobody can decide about loses its branches, not the parent', async () => {
  const world = await spreadWorld(
    { fanOut: 'parallelMax: 8, onBranchFailure: continue' },
    {
      tools: { 'test.flaky': failing() },
      change: (logic) =>
        logic.name !== 'worker-pool:test'
          ? logic
          : {
              ...logic,
              decide(state, input) {
                const { session, tenant } = input.session;
                if (tenant === 'default' && session === doomed) throw new Error('broken');
                return logic.decide(state, input);
              },
            },
    },
  );
  const goal = publishSpread(world, letters);
  const doomed = childOf(goal, 2).session;
  expect(await world.runUntilDone()).toBe(true);
  expect(world.results()).toMatchObject([
    {
      status: 'completed',
      output: { each: [{ name: 'a' }, { name: 'b' }, null, null, { name: 'e' }] },
    },
  ]);
  expect((await eventsOf(world, doomed)).at(-1)?.type).toBe('session.closed');
});

/** A call may cost 2,500 at most and really costs 1,004. */
const questions = { agent: 'asker', items: '{ question: =item }', task: 'attemptsMax: 1' };

test.each([
  ['of the goal', {}, { budgetNanoUsd: 40_000 }],
  ['of the task', { task: 'budgetNanoUsd: 40000' }, {}],
])(
  'a budget %s is shared out before children begin, and the rest comes back',
  async (_, plan, goalOf) => {
    const world = await spreadWorld(
      { ...questions, ...plan, fanOut: 'parallelMax: 2, onBranchFailure: continue' },
      { model: () => ({ text: 'Yes.' }) },
    );
    const goal = publishSpread(world, letters, goalOf);
    expect(await world.runUntilDone()).toBe(true);
    const { parent, children } = await familyProof(world, goal, 3);
    const shares = parent.all('budget.allotted').map(({ data }) => data.allottedNanoUsd);
    // The third begins when one has ended: what that one left is there again.
    expect(shares).toEqual([13_333, 13_333, 40_000 - 13_333 - 2 * costNanoUsd]);
    expect(children.map((one) => one.all('session.opened')[0]?.data.budgetNanoUsd)).toEqual(shares);
    const costs = parent.all('child.ended').map(({ data }) => data.spentNanoUsd ?? 0);
    expect(costs.reduce((sum, one) => sum + one, 0)).toBe(5 * costNanoUsd);
    expect(world.results()).toMatchObject([{ usage: { costNanoUsd: 5 * costNanoUsd } }]);
  },
);

test('children spend no more than the budget of their parent, however many ask at once', async () => {
  const world = await spreadWorld(
    { ...questions, fanOut: 'parallelMax: 8, onBranchFailure: continue' },
    { model: () => ({ text: 'Yes.' }) },
  );
  publishSpread(world, letters, { budgetNanoUsd: 8_000 });
  expect(await world.runUntilDone()).toBe(true);
  const [result] = world.results() as unknown as { usage: { costNanoUsd: number } }[];
  // Each child has money for one call, but the last, which has one branch.
  expect(result?.usage.costNanoUsd).toBe(3 * costNanoUsd);
});

test.each([200, 600, 1_000, 2_000, 3_000])(
  'a host that dies %d ms after the goal came loses no branch and repeats none that ended',
  async (crashAfterMs) => {
    const ran: Record<string, number> = {};
    const slow: FakeTool = ({ arguments: given }) => {
      const { name } = given as { name: string };
      ran[name] = (ran[name] ?? 0) + 1;
      return { result: { name }, afterMs: 400 };
    };
    const world = await spreadWorld(
      { fanOut: 'parallelMax: 2' },
      { tools: { 'test.flaky': slow }, hosts: [['all'], ['all']], crashNoticedMs: 2_000 },
    );
    const goal = publishSpread(world, letters);
    await world.clock.run(crashAfterMs);
    world.crash('host-1');
    expect(await world.runUntilDone()).toBe(true);
    expect(world.results()).toMatchObject([
      { status: 'completed', output: { each: letters.map((name) => ({ name })) } },
    ]);
    const { parent, children } = await familyProof(world, goal, 3);
    expect(parent.all('child.opened')).toHaveLength(3);
    expect(parent.all('child.ended')).toHaveLength(3);
    for (const child of children) expect(child.all('plan.accepted')).toHaveLength(1);
  },
);

test('causes lead from the result of the parent through a child back to the goal', async () => {
  const world = await spreadWorld({}, { tools: { 'test.flaky': failing() } });
  const goal = publishSpread(world, letters);
  expect(await world.runUntilDone()).toBe(true);
  const open = (session: string) => sourceFromWorld(world, session);
  const history = new History(await judgeSession(await open(goal.session)));
  const [published] = history.ofType('result.published');
  if (published === undefined) throw new Error('no result');
  const { links, beyond } = await whyOf(history, published, open);
  expect(beyond).toBeUndefined();
  const logs = [...new Set(links.map(({ session }) => session))];
  expect(logs[0]).toBe(goal.goalLog);
  expect(logs).toContain(goal.session);
  expect([1, 2, 3].map((one) => childOf(goal, one).session)).toContain(logs[2]);
  const types = links.map(({ happening }) => happening.event.type);
  expect(types.filter((type) => /^(child|session)\./.test(type))).toEqual([
    ...['session.opened', 'child.opened', 'session.opened', 'child.ended'],
  ]);
});
