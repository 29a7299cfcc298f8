import { describe, expect, test } from 'vitest';
import { costOf } from '../../../../replay-tools/cost/cost.ts';
import { History } from '../../../../replay-tools/read/history.ts';
import { type Asked, callOf, tally, told } from '../../../support/giving-agents.ts';
import type { FakeModel } from '../../../support/memory-models.ts';
import { MemoryWorld } from '../../../support/memory-world.ts';
import { catalogWith, WorldProof } from '../../../support/world-proof.ts';

const clerk = (name: string, more: string) => `
kind: model
name: ${name}
version: 1.0.0
description: ${name} of a desk.
role: tester
tools: [test.echo, handoff]
model: scripted/${name}
system: You are ${name}.
prompt: ="Do " & input.what & (input.handoff ? ", as " & input.handoff.from & " said")
handoffs: { agents: [front, back, tally], ${more} }
`;

const desk = (more: string) => ({
  'agents/front.yaml': clerk('front', more),
  'agents/back.yaml': clerk('back', more),
  'agents/tally.yaml': tally,
  'plans/desk.yaml': `
name: desk
version: 1.0.0
description: One task.
tasks:
  - { id: one, pool: test, agent: front, attemptsMax: 1, input: { what: it, counter: a } }
output: { kind: collect, shape: =tasks.one }
`,
});

async function served(more: string, model: FakeModel) {
  const world = await MemoryWorld.start({ catalog: catalogWith(desk(more)), model });
  const goal = world.publishGoal({ id: 'g', goal: 'Do it.', plan: 'desk' });
  expect(await world.runUntilDone()).toBe(true);
  expect(world.fatal).toEqual([]);
  return { world, result: world.results()[0], proof: await WorldProof.of(world, goal) };
}

const handTo = (agent: string) => callOf('handoff', { agent, summary: `It is for ${agent}.` });

describe('handoff', () => {
  test('the agent ends, and the result of the other one is that of the task', async () => {
    const { world, result, proof } = await served('with: summary', () => ({
      text: '',
      calls: [handTo('tally')],
    }));
    expect(result).toMatchObject({ status: 'completed', output: { counted: 'a' } });
    expect(
      proof.order('task.delegated', 'agent.completed', 'agent.created', 'task.completed'),
    ).toEqual([
      ...['agent.created', 'task.delegated', 'agent.completed'],
      ...['agent.created', 'task.completed', 'agent.completed', 'task.completed'],
    ]);
    expect(proof.all('task.completed').map(({ data }) => [data.task, data.agent])).toEqual([
      ['one/1', 'one/1.1'],
      ['one', 'one/1.1'],
    ]);
    expect(world.unclosed()).toEqual([]);
    // What was handed on is not lost.
    expect(costOf(new History(proof.judged), 'agent').lostNanoUsd).toBe(0);
  });

  test('with the conversation, the other one goes on where this one stood', async () => {
    const seen: Asked[] = [];
    const { result } = await served('with: conversation', (request) => {
      seen.push(request);
      if (request.model === 'scripted/back') return { text: 'served' };
      return told(request).length === 0
        ? { text: '', calls: [callOf('test.echo', { text: 'known' })] }
        : { text: '', calls: [handTo('back')] };
    });
    expect(result).toMatchObject({ status: 'completed', output: 'served' });
    const last = seen.at(-1)?.messages ?? [];
    expect(last.map(({ role }) => role)).toEqual([
      ...['system', 'user', 'assistant', 'tool', 'assistant', 'tool', 'user'],
    ]);
    expect(JSON.stringify(last.at(-1))).toContain('You are back.');
    expect(JSON.stringify(last.at(-1))).toContain('as front said');
  });

  test('beside other calls it is refused, and nothing goes on for ever between two agents', async () => {
    const { result, proof } = await served('handoffsMax: 2', (request) => {
      const other = request.model === 'scripted/front' ? 'back' : 'front';
      const alone = told(request).length > 0;
      const beside = callOf('test.echo', { text: 'x' });
      if (JSON.stringify(told(request)).includes('HANDOFFS_SPENT'))
        return { text: 'done by myself' };
      return { text: '', calls: alone ? [handTo(other)] : [beside, handTo(other)] };
    });
    expect(result).toMatchObject({ status: 'completed', output: 'done by myself' });
    expect(proof.all('tool.denied').map(({ data }) => data.code)).toEqual([
      ...['HANDOFF_NOT_ALONE', 'HANDOFF_NOT_ALONE', 'HANDOFFS_SPENT'],
    ]);
    expect(proof.all('task.delegated').map(({ data }) => [data.to, data.handoffs])).toEqual([
      ['back', 1],
      ['front', 2],
    ]);
  });

  test('what the other one fails with is the failure of the task', async () => {
    const { result } = await served('with: summary', (request) =>
      request.model === 'scripted/front'
        ? { text: '', calls: [handTo('back')] }
        : { failure: { code: 'NO', retryable: false, message: 'It cannot be done.' } },
    );
    expect(result).toMatchObject({ status: 'failed', error: { code: 'NO' } });
    expect(JSON.stringify(result)).toContain('to which the task was handed on');
  });
});
