/** Fairness between tenants in a pool, in whole sessions and virtual time. */
import { expect, test } from 'vitest';
import { poolsTopic } from '../../../../schemas/topics.ts';
import { MemoryWorld } from '../../../support/memory-world.ts';
import { catalogWith } from '../../../support/world-proof.ts';

const files = {
  'pools.yaml': '- { name: fair, description: Few places for everybody., concurrencyMax: 2 }\n',
  'plans/wait.yaml': `
name: wait
version: 1.0.0
description: Half a second in the pool.
tasks: [{ id: one, pool: fair, agent: counter, input: { counter: fair, waitMs: 500 } }]
output: { kind: collect }
`,
};

/** The 95th percentile of ten goals of `bolt` that come together, in milliseconds: the slowest of them. */
async function tenP95Ms(others: number): Promise<number> {
  const world = await MemoryWorld.start({ catalog: catalogWith(files), partitions: 4 });
  const publish = (tenant: string, id: string) =>
    world.publishGoal({ id, goal: 'Wait.', plan: 'wait', tenant });
  for (let n = 0; n < others; n += 1) publish('acme', `acme-${n}`);
  const asked = () =>
    world.records(poolsTopic).filter(({ headers }) => headers['lr_types'] === 'slot.requested');
  expect(await world.clock.run(60_000, () => asked().length >= others)).toBe(true);
  await world.clock.run(800);
  const tenIds = Array.from({ length: 10 }, (_, n) => `bolt-${n}`);
  for (const id of tenIds) publish('bolt', id);
  const results = () => world.results().filter(({ goalId }) => tenIds.includes(String(goalId)));
  expect(await world.clock.run(60_000, () => results().length === 10)).toBe(true);
  const waits = results().map(
    ({ openedAt, endedAt }) => Date.parse(String(endedAt)) - Date.parse(String(openedAt)),
  );
  return Math.max(...waits);
}

test('many goals of one tenant that wait move the p95 of ten of another by a fifth at most', async () => {
  const aloneMs = await tenP95Ms(0);
  const besideMs = await tenP95Ms(60);
  expect(besideMs / aloneMs).toBeLessThanOrEqual(1.2);
  expect(besideMs).toBeGreaterThanOrEqual(aloneMs);
});
