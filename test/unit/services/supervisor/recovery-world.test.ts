import { describe, expect, test } from 'vitest';
import { bodyOf, textOf } from '../../../../schemas/event.ts';
import type { JsonValue } from '../../../../schemas/json.ts';
import { fixerFiles } from '../../../support/healing-agents.ts';
import type { FakeModel } from '../../../support/memory-models.ts';
import { MemoryWorld } from '../../../support/memory-world.ts';
import { People } from '../../../support/people.ts';
import { catalogWith, startsOf, WorldProof } from '../../../support/world-proof.ts';

/** Agents that heal themselves, in a whole world in memory: every session is decided again too. */

const echoer = (onError: string, more = ''): Readonly<Record<string, string>> => ({
  ...fixerFiles(onError, more),
  'plans/fix.yaml': `
name: fix
version: 1.0.0
description: Says a number.
tasks: [{ id: one, pool: test, agent: fixer, attemptsMax: 1, backoffMs: 10 }]
output: { kind: collect, shape: =tasks.one }
`,
});

async function begun(onError: string, model: FakeModel, more = '') {
  const world = await MemoryWorld.start({ catalog: catalogWith(echoer(onError, more)), model });
  const goal = world.publishGoal({ id: 'fix', goal: 'Fix it.', plan: 'fix' });
  return { world, goal, people: new People(world) };
}

async function ended(onError: string, model: FakeModel) {
  const { world, goal } = await begun(onError, model);
  expect(await world.runUntilDone()).toBe(true);
  return { world, proof: await WorldProof.of(world, goal), result: world.results()[0] };
}

const said = (messages: readonly object[]): string => JSON.stringify(messages);
const stepsOf = (proof: WorldProof) =>
  proof.all('task.retry-scheduled').map(({ data }) => data.recovery);
const good = (number: number) => ({ text: JSON.stringify({ number }) });
const nonsense = { text: 'Some number.' };
/** Whoever is told of the failure does better. */
const learns: FakeModel = ({ messages }) =>
  said(messages).includes('OUTPUT_NOT_JSON') ? good(1) : nonsense;

describe('an agent that fails', () => {
  test('begins again from what is recorded, and reads the error that stopped it', async () => {
    const model: FakeModel = ({ messages }) => {
      if (!messages.some(({ role }) => role === 'assistant'))
        return { text: '', calls: [{ name: 'test.echo', arguments: { text: 'found' } }] };
      return said(messages).includes('OUTPUT_NOT_JSON') ? good(1) : nonsense;
    };
    const { world, proof, result } = await ended('{ restart: 1 }', model);
    expect(result).toMatchObject({ status: 'completed', output: { number: 1 } });
    // What was found is not looked for again.
    expect(startsOf(world, 'test.echo')).toBe(1);
    expect(stepsOf(proof)).toEqual([{ step: 'restart', count: 1, class: 'invalid-output' }]);
    const reason = textOf(proof.all('task.retry-scheduled')[0]?.content?.reason);
    expect(reason).toContain(
      '(restart 1 of 1), because attempt 1 by "fixer" failed with OUTPUT_NOT_JSON',
    );
    const asked = proof.all('model.requested').at(-1);
    const messages = bodyOf(asked?.content.messages) as readonly JsonValue[];
    expect(messages).toEqual([
      { role: 'user', text: expect.stringContaining('attempt 1 by "fixer": OUTPUT_NOT_JSON') },
    ]);
  });

  test('is restarted so often as its template says, whatever the plan counts', async () => {
    const { proof, result } = await ended('{ restart: 2 }', () => nonsense);
    expect(result).toMatchObject({ status: 'failed', error: { code: 'OUTPUT_NOT_JSON' } });
    expect(stepsOf(proof).map((one) => [one?.step, one?.count])).toEqual([
      ['restart', 1],
      ['restart', 2],
    ]);
    expect(textOf(proof.all('task.abandoned')[0]?.content.message)).toContain(
      'Tried before: restart (2).',
    );
  });

  test('has its limits anew: one that went in circles may call again', async () => {
    const model: FakeModel = ({ messages }) =>
      said(messages).includes('LOOP_DETECTED')
        ? good(2)
        : { text: '', calls: [{ name: 'test.echo', arguments: { text: 'again' } }] };
    const { result, world } = await ended('{ restart: 1 }', model);
    expect(result).toMatchObject({ output: { number: 2 } });
    expect(startsOf(world, 'test.echo')).toBe(4);
  });

  test('that spent its steps makes the calls that were due, then is told', async () => {
    const model: FakeModel = ({ messages }) =>
      said(messages).includes('STEP_LIMIT')
        ? good(3)
        : { text: '', calls: [{ name: 'test.echo', arguments: { n: messages.length } }] };
    const { result } = await ended('{ restart: 1 }', model);
    expect(result).toMatchObject({ output: { number: 3 } });
  });

  test('with a model that fails at once begins anew with the error', async () => {
    const model: FakeModel = ({ messages }) =>
      said(messages).includes('NO_MODEL')
        ? good(4)
        : { failure: { code: 'NO_MODEL', retryable: false } };
    const { result, proof } = await ended('{ restart: 1 }', model);
    expect(result).toMatchObject({ output: { number: 4 } });
    expect(proof.all('agent.created').at(-1)?.data.resumes).toBeUndefined();
  });
});

describe('an agent that is replaced', () => {
  test('by another model, which goes on with the conversation', async () => {
    const model: FakeModel = ({ model: name, messages }) =>
      name === 'scripted/second' && said(messages).includes('Some number.') ? good(5) : nonsense;
    const { result, proof } = await ended(
      '{ restart: 1, replaceWith: [{ model: scripted/second }] }',
      model,
    );
    expect(result).toMatchObject({ output: { number: 5 } });
    expect(stepsOf(proof)).toMatchObject([
      { step: 'restart', count: 1 },
      { step: 'replace', count: 1, model: 'scripted/second' },
    ]);
    expect(proof.all('model.requested').map(({ data }) => data.model)).toEqual([
      ...['scripted/first', 'scripted/first', 'scripted/second'],
    ]);
  });

  test('by another agent, which begins the task anew', async () => {
    const { result, proof } = await ended('{ replaceWith: [{ agent: simple }] }', () => nonsense);
    expect(result).toMatchObject({ output: { number: 7 } });
    expect(proof.all('task.scheduled').map(({ data }) => data.agent)).toEqual(['fixer', 'simple']);
    expect(proof.all('agent.created').at(-1)?.data).toMatchObject({ name: 'simple', attempt: 2 });
  });
});

describe('where nobody is left, a person', () => {
  test('has it tried again, and what the person says is told', async () => {
    const model: FakeModel = ({ messages }) =>
      said(messages).includes('Say one.') ? good(1) : nonsense;
    const { world, goal, people } = await begun('{ restart: 1, escalate: {} }', model);
    const asked = await people.asked();
    expect(asked).toMatchObject({ about: 'failure', state: 'open' });
    expect(asked.question).toContain('attempt 2 by "fixer": OUTPUT_NOT_JSON');
    await world.clock.run(120_000);
    await people.answer(asked, { decision: 'granted', reason: 'Say one.' });
    expect(await world.runUntilDone()).toBe(true);
    expect(world.results()[0]).toMatchObject({ status: 'completed', output: { number: 1 } });
    const proof = await WorldProof.of(world, goal);
    expect(proof.all('task.timed-out')).toEqual([]);
  });

  test('gives it up', async () => {
    const { world, goal, people } = await begun('{ escalate: {} }', () => nonsense);
    await people.answer(await people.asked(), { decision: 'denied' });
    expect(await world.runUntilDone()).toBe(true);
    expect(world.results()[0]).toMatchObject({ error: { code: 'GIVEN_UP' } });
    const proof = await WorldProof.of(world, goal);
    expect(textOf(proof.all('task.abandoned')[0]?.content.message)).toContain(
      'ann gave the task up',
    );
  });

  test('answers in its place; an answer that does not fit is asked for again, until nobody is asked', async () => {
    const { world, people } = await begun('{ escalate: { timesMax: 2 } }', () => nonsense);
    const first = await people.asked();
    await people.answer(first, { decision: 'answered', answer: { number: 'many' } });
    await world.clock.run(60_000, () =>
      people.open().some((one) => one.approval !== first.approval),
    );
    const second = await people.asked();
    expect(second.question).toContain('ANSWER_INVALID');
    await people.answer(second, { decision: 'answered', answer: { number: 9 } });
    expect(await world.runUntilDone()).toBe(true);
    expect(world.results()[0]).toMatchObject({ status: 'completed', output: { number: 9 } });
  });

  test('who does not answer in time ends the task', async () => {
    const { world } = await begun(
      '{ escalate: {} }',
      () => nonsense,
      'person: { timeoutMs: 20000 }',
    );
    expect(await world.runUntilDone()).toBe(true);
    expect(world.results()[0]).toMatchObject({ error: { code: 'NOBODY_DECIDED' } });
  });
});

test('an attempt without an error policy is told nothing, as before', async () => {
  const { proof, result } = await ended('{ attempts: resume }', learns);
  expect(result).toMatchObject({ status: 'failed' });
  expect(proof.all('task.retry-scheduled')).toEqual([]);
});
