import { expect, test } from 'vitest';
import { textOf } from '../../../../schemas/event.ts';
import { giverOf, givesTo } from '../../../support/giving-agents.ts';
import { fixerFiles } from '../../../support/healing-agents.ts';
import type { FakeModel } from '../../../support/memory-models.ts';
import { MemoryWorld } from '../../../support/memory-world.ts';
import { People } from '../../../support/people.ts';
import { catalogWith, startsOf, WorldProof } from '../../../support/world-proof.ts';

/** An agent that was given work heals itself as one of the plan does, and who waits for it does not see it. */

const files = (onError: string): Readonly<Record<string, string>> => ({
  ...giverOf('fixer'),
  ...fixerFiles(onError),
  'plans/give.yaml': `
name: give
version: 1.0.0
description: Gives work away.
tasks: [{ id: one, pool: test, agent: giver, attemptsMax: 1, backoffMs: 10, timeoutMs: 50000, input: { goal: =goal } }]
output: { kind: collect, shape: =tasks.one }
`,
});

const said = (messages: readonly object[]): string => JSON.stringify(messages);
const good = (number: number) => ({ text: JSON.stringify({ number }) });
const nonsense = { text: 'Some number.' };

/** The giver gives once and says what it was told; the others are `fixer`. */
const giverAnd =
  (fixer: FakeModel): FakeModel =>
  (request, count) =>
    (request.model === 'scripted/giver' ? givesTo('fixer') : fixer)(request, count);

async function begun(onError: string, fixer: FakeModel, goal = 'delegate') {
  const catalog = catalogWith(files(onError));
  const world = await MemoryWorld.start({ catalog, model: giverAnd(fixer) });
  return { world, goal: world.publishGoal({ id: 'g', goal, plan: 'give' }) };
}

async function ended(onError: string, fixer: FakeModel, goal?: string) {
  const at = await begun(onError, fixer, goal);
  expect(await at.world.runUntilDone()).toBe(true);
  const proof = await WorldProof.of(at.world, at.goal);
  return { world: at.world, proof, result: at.world.results()[0] };
}

const stepsOf = (proof: WorldProof) =>
  proof.all('task.retry-scheduled').map(({ data }) => [data.task, data.recovery?.step]);
const workersOf = (proof: WorldProof) =>
  proof.all('agent.created').map(({ data }) => `${data.agent} ${data.name}`);

test.each(['delegate', 'hand on'])(
  'to %s: who was given the work begins again with the error in its context, and goes on',
  async (goal) => {
    const fixer: FakeModel = ({ messages }) => {
      if (!messages.some(({ role }) => role === 'assistant'))
        return { text: '', calls: [{ name: 'test.echo', arguments: { text: 'found' } }] };
      return said(messages).includes('OUTPUT_NOT_JSON') ? good(1) : nonsense;
    };
    const { world, proof, result } = await ended('{ restart: 1 }', fixer, goal);
    expect(result).toMatchObject({ status: 'completed' });
    expect(said([result?.['output'] as object])).toContain('number');
    expect(stepsOf(proof)).toEqual([['one/1', 'restart']]);
    expect(workersOf(proof)).toEqual(['one.1 giver', 'one/1.1 fixer', 'one/1.2 fixer']);
    expect(startsOf(world, 'test.echo')).toBe(1);
    expect(textOf(proof.all('task.retry-scheduled')[0]?.content?.reason)).toContain(
      'because attempt 1 by "fixer" failed with OUTPUT_NOT_JSON',
    );
  },
);

test('another model takes over from it, then another agent, within the rights of who delegated', async () => {
  const onError = '{ replaceWith: [{ model: scripted/second }, { agent: simple }] }';
  const { proof, result } = await ended(onError, () => nonsense);
  expect(result).toMatchObject({ status: 'completed', output: '[{"number":7}]' });
  expect(stepsOf(proof)).toEqual([
    ['one/1', 'replace'],
    ['one/1', 'replace'],
  ]);
  expect(proof.all('model.requested').map(({ data }) => data.model)).toEqual([
    ...['scripted/giver', 'scripted/first', 'scripted/second', 'scripted/giver'],
  ]);
  expect(workersOf(proof).at(-1)).toBe('one/1.3 simple');
  expect(proof.all('tool.denied')).toEqual([]);
});

test('a person is asked what to do, while the time of who waits stands still', async () => {
  const fixer: FakeModel = ({ messages }) =>
    said(messages).includes('Say nine.') ? good(9) : nonsense;
  const { world, goal } = await begun('{ restart: 1, escalate: {} }', fixer);
  const people = new People(world);
  const asked = await people.asked();
  expect(asked.question).toContain('attempt 2 by "fixer": OUTPUT_NOT_JSON');
  await world.clock.run(120_000);
  await people.answer(asked, { decision: 'granted', reason: 'Say nine.' });
  expect(await world.runUntilDone()).toBe(true);
  expect(world.results()[0]).toMatchObject({ status: 'completed', output: '[{"number":9}]' });
  const proof = await WorldProof.of(world, goal);
  expect(stepsOf(proof)).toEqual([
    ['one/1', 'restart'],
    ['one/1', 'escalate'],
  ]);
  expect(proof.all('task.timed-out')).toEqual([]);
});

test('a question of it is withdrawn when the goal is cancelled, and nobody is left behind', async () => {
  const { world, goal } = await begun('{ escalate: {} }', () => nonsense);
  const people = new People(world);
  await people.asked();
  world.publishCancel('g');
  expect(await world.runUntilDone()).toBe(true);
  expect(world.results()[0]).toMatchObject({ status: 'cancelled' });
  const proof = await WorldProof.of(world, goal);
  expect(proof.all('agent.cancelled').map(({ data }) => data.agent)).toEqual([
    ...['one.1', 'one/1.2'],
  ]);
  expect(world.unclosed()).toEqual([]);
});

test('where nobody is left it fails, and who delegated reads what was tried', async () => {
  const { result } = await ended('{ restart: 1 }', () => nonsense);
  expect(result).toMatchObject({ status: 'completed' });
  expect(String(result?.['output'])).toContain('Tried before: restart (1).');
});

test('a host that dies between the attempts takes nothing with it', async () => {
  const fixer: FakeModel = ({ messages }) =>
    said(messages).includes('OUTPUT_NOT_JSON') ? { ...good(1), afterMs: 20_000 } : nonsense;
  const catalog = catalogWith(files('{ restart: 1 }'));
  const hosts = [['all'], ['all']];
  const model = giverAnd(fixer);
  const world = await MemoryWorld.start({ catalog, model, hosts, crashNoticedMs: 3_000 });
  const goal = world.publishGoal({ id: 'g', goal: 'delegate', plan: 'give' });
  await world.clock.run(60_000, () => startsOf(world, 'scripted/first') === 2);
  world.crash('host-1');
  expect(await world.runUntilDone()).toBe(true);
  const proof = await WorldProof.of(world, goal);
  expect(stepsOf(proof)).toEqual([['one/1', 'restart']]);
  expect(world.results()[0]).toMatchObject({ status: 'completed', output: '[{"number":1}]' });
});
