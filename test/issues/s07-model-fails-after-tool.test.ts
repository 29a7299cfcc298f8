// Source: agentarea 320, the model answered 400 after a shell call; the retry ran the shell again.
import { expect, test } from 'vitest';
import type { FakeModel, FakeModelAnswer } from '../support/memory-models.ts';
import { MemoryWorld } from '../support/memory-world.ts';
import { startsOf, statusesOf, WorldProof } from '../support/world-proof.ts';

type Failure = Extract<FakeModelAnswer, { failure: unknown }>['failure'];

/** Wants one count; once it is told the result, fails so often before it answers. */
function modelFailing(failure: Failure, times: number): FakeModel {
  let failed = 0;
  return ({ messages }) => {
    const told = messages.some(({ role }) => role === 'tool');
    if (!told) return { text: '', calls: [{ name: 'test.count', arguments: { counter: 'a' } }] };
    failed += 1;
    return failed <= times ? { failure } : { text: 'Counted.' };
  };
}

async function played(failure: Failure, times: number) {
  const world = await MemoryWorld.start({ model: modelFailing(failure, times) });
  const goal = world.publishGoal({ id: 'ask', goal: 'Count once.', plan: 'ask' });
  expect(await world.runUntilDone()).toBe(true);
  return { world, proof: await WorldProof.of(world, goal) };
}

test.each([1, 2])(
  'a model call that fails %i times after a tool result is made again alone',
  async (times) => {
    const { world, proof } = await played({ code: 'OVERLOADED', retryable: true }, times);
    expect(statusesOf(world)).toEqual({ ask: 'completed' });
    expect(startsOf(world, 'test.count')).toBe(1);
    expect(startsOf(world, 'scripted/tester')).toBe(2 + times);
    expect(proof.all('tool.requested')).toHaveLength(1);
    expect(proof.all('model.failed')).toHaveLength(times);
    expect(proof.all('task.scheduled')).toHaveLength(1);
    expect(proof.all('model.requested').map(({ data }) => data.step)).toEqual([
      ...[1, 2],
      ...Array.from({ length: times }, () => 2),
    ]);
  },
);

test('a request that the model refuses for good ends the task, the tool ran once', async () => {
  const { world, proof } = await played({ code: 'BAD_REQUEST', retryable: false }, 99);
  expect(statusesOf(world)).toEqual({ ask: 'failed' });
  expect(startsOf(world, 'test.count')).toBe(1);
  expect(startsOf(world, 'scripted/tester')).toBe(2);
  expect(proof.all('task.scheduled')).toHaveLength(1);
});

test('a model that gives up on an attempt is asked again by the next one, the tool ran once', async () => {
  const { world, proof } = await played({ code: 'OVERLOADED', retryable: true }, 4);
  expect(statusesOf(world)).toEqual({ ask: 'completed' });
  expect(startsOf(world, 'test.count')).toBe(1);
  expect(startsOf(world, 'scripted/tester')).toBe(6);
  expect(proof.all('task.scheduled')).toHaveLength(2);
  expect(proof.all('agent.created').map(({ data }) => data.resumes)).toEqual([
    undefined,
    proof.all('agent.created')[0]?.data.agent,
  ]);
});
