/** The example of vectors in docs/models-and-budgets.md, on the files that stand there. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { filesOfDocument } from '../../support/document-files.ts';
import { MemoryWorld } from '../../support/memory-world.ts';
import { catalogWith, WorldProof } from '../../support/world-proof.ts';

let world: MemoryWorld;
beforeEach(async () => {
  const catalog = catalogWith(filesOfDocument('docs/models-and-budgets.md'));
  world = await MemoryWorld.start({ catalog, model: () => ({ text: '' }) });
});
afterEach(() => world.stop());

const inputs = {
  question: 'Where is the key?',
  notes: ['Milk is out.', 'The key is under the mat.', 'Where it rains, it pours.'],
};

test('the nearest note is found, what it cost is in the log, and all can be decided again', async () => {
  const goal = world.publishGoal({ id: 'find', goal: 'Find.', plan: 'find-note', inputs });
  expect(await world.runUntilDone()).toBe(true);
  expect(world.results()[0]).toMatchObject({
    status: 'completed',
    output: { find: 'The key is under the mat.' },
  });
  const proof = await WorldProof.of(world, goal);
  const [asked] = proof.all('model.requested');
  expect(asked?.data).toMatchObject({ embeds: 4, cacheMs: 60_000, outputTokensMax: 0, tools: [] });
  expect(asked?.content.texts?.body).toEqual([inputs.question, ...inputs.notes]);
  const [answered] = proof.all('model.completed');
  expect(answered?.data).toMatchObject({ embeds: 4, dimensions: 64 });
  expect(answered?.data.costNanoUsd).toBeGreaterThan(0);
  const [agent] = proof.all('agent.completed');
  expect(agent?.data).toMatchObject({ modelCalls: 1, costNanoUsd: answered?.data.costNanoUsd });
});

test('what is no list of texts fails with its place', async () => {
  const empty = { ...inputs, notes: ['Milk is out.', ''] };
  world.publishGoal({ id: 'empty', goal: 'Find.', plan: 'find-note', inputs: empty });
  expect(await world.runUntilDone()).toBe(true);
  const [result] = world.results();
  expect(result).toMatchObject({ status: 'failed', error: { code: 'EMBED_TEXTS_INVALID' } });
  expect(JSON.stringify(result)).toContain('agent note-finder, steps[0]');
});
