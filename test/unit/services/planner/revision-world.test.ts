import { expect, test } from 'vitest';
import type { JsonValue } from '../../../../schemas/json.ts';
import type { FakeTool } from '../../../support/memory-effects.ts';
import { MemoryWorld } from '../../../support/memory-world.ts';
import { catalogWith, WorldProof } from '../../../support/world-proof.ts';

/** `one`, then `two`, which fails, then `three`. */
const written = (replan: string): string => `
name: revised
version: 1.0.0
description: Three tasks in a row.
tasks:
  - { id: one, pool: test, agent: flaky, input: { name: one }, attemptsMax: 1 }
  - { id: two, pool: test, agent: flaky, needs: [one], input: { name: two }, attemptsMax: 1 }
  - { id: three, pool: test, agent: flaky, needs: [two], input: { name: =tasks.two.name }, attemptsMax: 1 }
  - { id: beside, pool: test, agent: flaky, input: { name: beside }, attemptsMax: 1 }
${replan}
`;

const rules = `
replan:
  revisionsMax: 2
  rules:
    - when: failure.task = 'two' and failure.code = 'TOOL_BROKE'
      tasks:
        - { id: detour, pool: test, agent: flaky, needs: [one], input: { name: =tasks.one.name & "-again" }, attemptsMax: 1 }
        - { id: three, pool: test, agent: flaky, needs: [detour], input: { name: three }, attemptsMax: 1 }
    - when: failure.task = 'detour'
      tasks:
        - { id: last, pool: test, agent: flaky, needs: [one], input: { name: last }, attemptsMax: 1 }
`;

type Ran = Record<string, number>;

async function played(plan: string, broken: readonly string[], options: object = {}) {
  const ran: Ran = {};
  const flaky: FakeTool = ({ arguments: given }) => {
    const name = String((given as Readonly<Record<string, JsonValue>>)['name']);
    ran[name] = (ran[name] ?? 0) + 1;
    if (broken.includes(name)) return { failure: { message: `no ${name}` } };
    return { result: { name }, afterMs: name === 'beside' ? 500 : 20 };
  };
  const catalog = catalogWith({ 'plans/revised.yaml': plan });
  const world = await MemoryWorld.start({ catalog, tools: { 'test.flaky': flaky }, ...options });
  const goal = world.publishGoal({ goal: 'Three.', plan: 'revised' });
  return { world, goal, ran };
}

test('a rule gives the rest of the plan; what is done or runs stays, and nothing runs twice', async () => {
  const { world, goal, ran } = await played(written(rules), ['two']);
  expect(await world.runUntilDone()).toBe(true);
  expect(ran).toEqual({ one: 1, two: 1, beside: 1, 'one-again': 1, three: 1 });
  expect(world.results()).toMatchObject([
    {
      status: 'completed',
      output: {
        one: { name: 'one' },
        beside: { name: 'beside' },
        detour: { name: 'one-again' },
        three: { name: 'three' },
      },
    },
  ]);
  const proof = await WorldProof.of(world, goal);
  expect(proof.all('plan.revision-requested')[0]?.data).toMatchObject({ kept: ['one', 'beside'] });
  expect(proof.all('plan.revised')[0]?.data).toMatchObject({ revision: 1, origin: 'template' });
  expect(proof.all('task.skipped')).toEqual([]);
});

const spared = `
  - { id: odd, pool: test, agent: flaky, input: { name: odd }, attemptsMax: 1, onFailure: continue }
  - { id: after, pool: test, agent: flaky, needs: [odd], input: { name: after }, attemptsMax: 1 }
replan:
  rules:
    - when: failure.task = 'two'
      tasks: [{ id: NAMED, pool: test, agent: flaky, input: { name: again }, attemptsMax: 1 }]
`;

test('a task that was skipped and is in the new plan runs', async () => {
  const plan = written(spared.trim().replace(/^/, '  ').replace('NAMED', 'after'));
  const { world, ran } = await played(plan, ['two', 'odd']);
  expect(await world.runUntilDone()).toBe(true);
  expect(world.results()).toMatchObject([
    { status: 'completed', output: { after: { name: 'again' } } },
  ]);
  expect(ran['again']).toBe(1);
});

test('a task that was given up is not begun anew under its id', async () => {
  const plan = written(spared.trim().replace(/^/, '  ').replace('NAMED', 'odd'));
  const { world, goal } = await played(plan, ['two', 'odd']);
  expect(await world.runUntilDone()).toBe(true);
  expect(world.results()).toMatchObject([{ status: 'failed', error: { task: 'two' } }]);
  const proof = await WorldProof.of(world, goal);
  const codes = proof.all('plan.revision-refused').map(({ data }) => data.code);
  expect(codes).toEqual(['REVISION_INVALID']);
});

test('a second failure is answered by the next rule, and a third fails the session with the last reason', async () => {
  const twice = await played(written(rules), ['two', 'one-again']);
  expect(await twice.world.runUntilDone()).toBe(true);
  expect(twice.world.results()).toMatchObject([
    { status: 'completed', output: { last: { name: 'last' } } },
  ]);
  const thrice = await played(written(rules), ['two', 'one-again', 'last']);
  expect(await thrice.world.runUntilDone()).toBe(true);
  expect(thrice.world.results()).toMatchObject([{ status: 'failed', error: { task: 'last' } }]);
  expect(
    (await WorldProof.of(thrice.world, thrice.goal)).all('plan.revision-requested'),
  ).toHaveLength(2);
});

test.each([
  [
    'no rule holds',
    rules.replace("failure.task = 'two' and", "failure.task = 'none' and"),
    'NO_RULE',
  ],
  [
    'the rest would not run',
    rules.replace(
      'needs: [one], input: { name: =tasks.one',
      'needs: [three], input: { name: =tasks.three',
    ),
    'REVISION_INVALID',
  ],
])('where %s, the session fails with its own reason', async (_, replan, code) => {
  const { world, goal } = await played(written(replan), ['two']);
  expect(await world.runUntilDone()).toBe(true);
  expect(world.results()).toMatchObject([
    { status: 'failed', error: { code: 'TOOL_BROKE', task: 'two' } },
  ]);
  const proof = await WorldProof.of(world, goal);
  expect(proof.all('plan.revision-refused').map(({ data }) => data.code)).toEqual([code]);
});

test('a host that dies while the plan is revised changes nothing of it', async () => {
  for (const crashAfterMs of [150, 250, 350, 600]) {
    const { world, ran } = await played(written(rules), ['two'], {
      hosts: [['all'], ['all']],
      crashNoticedMs: 2_000,
    });
    await world.clock.run(crashAfterMs);
    world.crash('host-1');
    expect(await world.runUntilDone()).toBe(true);
    expect(world.results()).toMatchObject([{ status: 'completed' }]);
    expect(ran['three']).toBe(1);
  }
});

const planning = `
name: revised
version: 1.0.0
description: A model plans.
planning: { model: scripted/planner, agents: [{ agent: flaky, pool: test }], attemptsMax: 2 }
replan: {}
`;

const tasksOf = (...tasks: readonly object[]): string => JSON.stringify({ tasks });
const one = { id: 'one', agent: 'flaky', input: { name: 'one' }, attemptsMax: 1 };
const two = { id: 'two', agent: 'flaky', needs: ['one'], input: { name: 'two' }, attemptsMax: 1 };
const other = {
  id: 'other',
  agent: 'flaky',
  needs: ['one'],
  input: { name: 'other' },
  attemptsMax: 1,
};

test('the planning model is shown the failure, corrects its answer, and its tasks go on', async () => {
  const asked: string[] = [];
  const answers = [tasksOf(one, two), tasksOf({ ...other, id: 'two' }), tasksOf(other)];
  const { world, goal, ran } = await played(planning, ['two'], {
    model: (request: { messages: readonly { text?: string }[] }, count: number) => {
      asked.push(String(request.messages.at(-1)?.text));
      return { text: answers[count - 1] ?? '' };
    },
  });
  expect(await world.runUntilDone()).toBe(true);
  expect(world.results()).toMatchObject([
    { status: 'completed', output: { one: { name: 'one' }, other: { name: 'other' } } },
  ]);
  expect(ran).toEqual({ one: 1, two: 1, other: 1 });
  expect(asked[1]).toContain('The task "two" failed for good (TOOL_BROKE)');
  expect(asked[1]).toContain('- one: {"name":"one"}');
  expect(asked[2]).toContain('A task "two" has begun already.');
  const proof = await WorldProof.of(world, goal);
  expect(proof.all('plan.revision-refused')[0]?.data).toMatchObject({ again: true });
  expect(proof.all('plan.revised')[0]?.data).toMatchObject({ origin: 'model', revision: 1 });
});

test('a planning model that answers nonsense is asked so often and no more', async () => {
  const { world, goal } = await played(planning, ['two'], {
    model: (_: unknown, count: number) => ({ text: count === 1 ? tasksOf(one, two) : 'nonsense' }),
  });
  expect(await world.runUntilDone()).toBe(true);
  expect(world.results()).toMatchObject([
    { status: 'failed', error: { code: 'TOOL_BROKE', task: 'two' } },
  ]);
  const proof = await WorldProof.of(world, goal);
  expect(proof.all('model.requested')).toHaveLength(3);
});
