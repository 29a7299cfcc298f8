import { expect, test } from 'vitest';
import { filesOfDocument } from '../../../support/document-files.ts';
import type { FakeModel } from '../../../support/memory-models.ts';
import { MemoryWorld } from '../../../support/memory-world.ts';
import { catalogWith, WorldProof } from '../../../support/world-proof.ts';

/** A call for vectors that fails is made again by its agent, as calls for answers are. */

const inputs = { question: 'Where is the key?', notes: ['The key is under the mat.'] };

async function asked(model: FakeModel, attemptsMax = 3) {
  const files = filesOfDocument('docs/models-and-budgets.md');
  const named = Object.entries(files).map(([name, text]) => [
    name,
    text.replace(/^( +)embed:\n/m, `$1embed:\n$1  attemptsMax: ${attemptsMax}\n`),
  ]);
  const world = await MemoryWorld.start({ catalog: catalogWith(Object.fromEntries(named)), model });
  const goal = world.publishGoal({ id: 'find', goal: 'Find.', plan: 'find-note', inputs });
  expect(await world.runUntilDone()).toBe(true);
  return { result: world.results()[0], proof: await WorldProof.of(world, goal) };
}

const failure = { code: 'BUSY', retryable: true, message: 'It is busy.' };

test('after a wait, within the same attempt, until it works', async () => {
  const { result, proof } = await asked((_, count) => (count <= 2 ? { failure } : { text: '' }));
  expect(result).toMatchObject({ status: 'completed', output: { find: inputs.notes[0] } });
  expect(proof.all('model.requested')).toHaveLength(3);
  expect(proof.all('agent.created')).toHaveLength(1);
  expect(proof.all('agent.completed')[0]?.data).toMatchObject({ modelCalls: 3 });
  expect(proof.all('timer.fired').length).toBeGreaterThanOrEqual(2);
});

test('so often as the step says, then the task has the say', async () => {
  const { result, proof } = await asked(() => ({ failure }), 2);
  expect(result).toMatchObject({ status: 'failed', error: { code: 'BUSY' } });
  const perAttempt = proof.all('model.requested').map(({ data }) => data.attempt);
  expect(perAttempt.filter((attempt) => attempt === 1)).toHaveLength(2);
});

test('not where the failure will not pass', async () => {
  const { proof } = await asked(() => ({ failure: { ...failure, retryable: false } }));
  expect(proof.all('model.requested')).toHaveLength(1);
});
