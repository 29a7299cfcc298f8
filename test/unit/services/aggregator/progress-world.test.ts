/** What parts of a plan give is told before its end, in whole sessions; every decision is computed again. */
import { expect, test } from 'vitest';
import { MemoryWorld } from '../../../support/memory-world.ts';
import { catalogWith, WorldProof } from '../../../support/world-proof.ts';

const files = {
  'plans/two-parts.yaml': `
name: two-parts
version: 1.0.0
description: One part is there long before the other.
progress: true
tasks:
  - { id: quick, pool: test, agent: echoer, input: { said: early } }
  - { id: slow, pool: test, agent: counter, input: { counter: two-parts, waitMs: 1500 } }
output: { kind: collect }
`,
};

test('a part that is there early is told on the results topic before the result', async () => {
  const world = await MemoryWorld.start({ catalog: catalogWith(files) });
  const goal = world.publishGoal({ id: 'g', goal: 'Both.', plan: 'two-parts' });
  expect(await world.clock.run(60_000, () => world.results().length === 2)).toBe(true);
  const [progress, result] = world.results();
  expect(progress).toMatchObject({
    ...{ goalId: 'g', progress: { task: 'quick', completed: 1, tasks: 2 } },
  });
  expect(result).toMatchObject({ status: 'completed', output: { quick: progress?.['output'] } });
  const proof = await WorldProof.of(world, goal);
  expect(proof.all('progress.published')).toHaveLength(1);
});
