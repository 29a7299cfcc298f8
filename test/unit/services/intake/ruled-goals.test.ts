/** Goals that rules of the catalog place, in whole sessions; every decision is computed again. */
import { expect, test } from 'vitest';
import { MemoryWorld } from '../../../support/memory-world.ts';
import { catalogWith, WorldProof } from '../../../support/world-proof.ts';

const files = {
  'rules.yaml': `
- { name: reports, when: { categories: [report] }, lane: bulk }
- { name: only-analysis, when: { tenants: [bolt] }, pools: [analysis] }
`,
};

test('a rule gives a goal its lane, whatever the goal asks for, and the goal log says which', async () => {
  const world = await MemoryWorld.start({ catalog: catalogWith(files) });
  const report = world.publishGoal({
    ...{ id: 'r', goal: 'Say it.', plan: 'echo', inputs: { said: 'x' } },
    ...{ labels: { category: 'report' }, priority: 'high' },
  });
  const other = world.publishGoal({ id: 'o', goal: 'Say.', plan: 'echo', inputs: { said: 'y' } });
  expect(await world.clock.run(60_000, () => world.results().length === 2)).toBe(true);
  const [opened] = (await WorldProof.of(world, report)).all('session.opened');
  expect(opened?.data).toMatchObject({ lane: 'bulk', priority: 'bulk' });
  const [usual] = (await WorldProof.of(world, other)).all('session.opened');
  expect(usual?.data).toMatchObject({ lane: 'normal', priority: 'normal' });
});

test('a plan whose tasks run in other pools than the rule allows is rejected with the reason', async () => {
  const world = await MemoryWorld.start({ catalog: catalogWith(files) });
  const goal = { id: 'b', goal: 'Say it.', plan: 'echo', inputs: { said: 'x' }, tenant: 'bolt' };
  world.publishGoal(goal);
  expect(await world.clock.run(60_000, () => world.results().length === 1)).toBe(true);
  expect(world.results()[0]).toMatchObject({ status: 'failed', error: { code: 'PLAN_REJECTED' } });
  expect(JSON.stringify(world.results()[0])).toContain('the goal allows analysis');
});
