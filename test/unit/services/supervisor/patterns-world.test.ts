import { expect, it } from 'vitest';
import { simulatedCatalog } from '../../../simulation/world/catalog.ts';
import { MemoryWorld } from '../../../support/memory-world.ts';

/** All patterns at once, with every service: agents, tools and the joining of outputs. */
it('runs a race, a map, a review and a loop to their ends', async () => {
  const world = await MemoryWorld.start({
    catalog: simulatedCatalog(),
    tools: { 'test.flaky': () => ({ result: { ok: true } }) },
  });
  world.publishGoal({ goal: 'Everything.', plan: 'patterns' });
  expect(await world.runUntilDone()).toBe(true);
  const [result] = world.results();
  expect(result).toMatchObject({ status: 'completed' });
  expect(result?.['output']).toEqual({
    race: { counter: 'quick', waitedMs: null },
    each: [{ ok: true }, { ok: true }, { ok: true }],
    write: { said: 'round 2' },
    watch: { iterations: 3, exit: 'iterations', last: { said: 'iteration 3' } },
  });
});
