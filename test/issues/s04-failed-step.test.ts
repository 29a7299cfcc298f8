// Source: agent-framework 3758, resuming after a failed step reported success without running it.
import { expect, test } from 'vitest';
import { diffOf } from '../../replay-tools/diff/diff.ts';
import { mocked } from '../../replay-tools/fork/answers.ts';
import { forkAt, historyOfFork } from '../../replay-tools/fork/fork.ts';
import { retryPoint } from '../../replay-tools/fork/retry-point.ts';
import { History } from '../../replay-tools/read/history.ts';
import { judgeSession } from '../../replay-tools/read/session.ts';
import type { JsonValue } from '../../schemas/json.ts';
import { MemoryWorld } from '../support/memory-world.ts';
import { catalogWith, statusesOf, WorldProof } from '../support/world-proof.ts';
import { sourceFromWorld } from '../support/world-session.ts';

const names = ['one', 'two', 'three', 'four', 'five'];

const catalog = () => {
  const tasks = names.map((name, index) => {
    const needs = index === 0 ? '' : `needs: [${names[index - 1]}], `;
    const rest = `input: { name: ${name} }, attemptsMax: 3, backoffMs: 20000`;
    return `  - { id: ${name}, pool: test, agent: flaky, ${needs}${rest} }`;
  });
  const head = 'name: five\nversion: 1.0.0\ndescription: Five tasks in a row.\ntasks:\n';
  return catalogWith({ 'plans/five.yaml': `${head}${tasks.join('\n')}\n` });
};

/** A world in which the third task fails so often, and how often each task's tool really ran. */
async function worldFailing(times: number) {
  const ran: Record<string, number> = {};
  const world = await MemoryWorld.start({
    catalog: catalog(),
    tools: {
      'test.flaky': ({ arguments: given }) => {
        const name = String((given as Readonly<Record<string, JsonValue>>)['name']);
        ran[name] = (ran[name] ?? 0) + 1;
        if (name === 'three' && ran[name] <= times) return { failure: { message: 'Not now.' } };
        return { result: { name } };
      },
    },
  });
  return { world, ran, goal: world.publishGoal({ id: 'five', goal: 'Five.', plan: 'five' }) };
}

test.each(['goes on', 'dies in the meantime'])(
  'only the failed task runs again when its host %s, and no success comes before',
  async (how) => {
    const { world, ran, goal } = await worldFailing(1);
    expect(await world.clock.run(5_000, () => ran['three'] === 1)).toBe(true);
    await world.clock.run(1_000);
    expect(world.results()).toEqual([]);
    expect(ran).toEqual({ one: 1, two: 1, three: 1 });
    if (how !== 'goes on') {
      world.crash('host-1');
      await world.startHost('host-2', ['all']);
    }
    expect(await world.runUntilDone()).toBe(true);
    expect(ran).toEqual({ one: 1, two: 1, three: 2, four: 1, five: 1 });
    expect(statusesOf(world)).toEqual({ five: 'completed' });
    expect(world.results()).toHaveLength(1);
    const proof = await WorldProof.of(world, goal);
    expect(proof.all('task.completed').map(({ data }) => data.task)).toEqual(names);
    expect(proof.all('task.scheduled').map(({ data }) => `${data.task} ${data.attempt}`)).toEqual([
      ...['one 1', 'two 1', 'three 1', 'three 2', 'four 1', 'five 1'],
    ]);
    expect(proof.order('task.failed', 'task.retry-scheduled', 'session.completed')).toEqual([
      ...['task.failed', 'task.retry-scheduled', 'session.completed'],
    ]);
  },
);

test('a step that fails for good fails the goal, and what needs it never runs', async () => {
  const { world, ran, goal } = await worldFailing(3);
  expect(await world.runUntilDone()).toBe(true);
  expect(ran).toEqual({ one: 1, two: 1, three: 3 });
  expect(world.results()).toMatchObject([{ goalId: 'five', status: 'failed' }]);
  const proof = await WorldProof.of(world, goal);
  expect(proof.order('session.completed', 'session.failed')).toEqual(['session.failed']);
});

test('replay tries the failed step again: three to five run, one and two do not, and no success comes before', async () => {
  const { world, ran, goal } = await worldFailing(3);
  expect(await world.runUntilDone()).toBe(true);
  const history = new History(await judgeSession(await sourceFromWorld(world, goal.session)));
  const mocks = mocked([{ tool: 'test.flaky', result: { name: 'mocked' } }]);
  const fork = forkAt(history, retryPoint(history), { mocks });
  expect(fork.played).toMatchObject({ ended: 'closed', unanswered: [], answers: { mock: 3 } });
  const went = await historyOfFork(fork);
  expect(went.ofType('task.completed').map(({ scope }) => scope.task)).toEqual(names);
  expect(diffOf(history, went).other).toMatchObject({ status: 'completed' });
  const order = went.entries.map(({ event }) => event.type);
  expect(order.indexOf('session.completed')).toBeGreaterThan(order.lastIndexOf('task.completed'));
  expect(ran).toEqual({ one: 1, two: 1, three: 3 });
});
