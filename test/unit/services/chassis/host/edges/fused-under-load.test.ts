import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sessionTopic } from '../../../../../../schemas/topics.ts';
import { requireCatalog } from '../../../../../../services/chassis/catalog/load.ts';
import { packageRoot } from '../../../../../../services/chassis/config/package-root.ts';
import { loopCosts } from '../../../../../support/loop-costs.ts';
import type { FakeModel } from '../../../../../support/memory-models.ts';
import { MemoryWorld } from '../../../../../support/memory-world.ts';

const atOnce = 50;
const pairs = 6;

/** One tool call a step; then the end. */
const model: FakeModel = ({ messages }) => {
  const answers = messages.filter(({ role }) => role === 'tool').length;
  if (answers >= pairs) return { text: 'done', afterMs: 1 };
  const call = { name: 'bench.echo', arguments: { at: answers } };
  return { text: 'on', calls: [call], afterMs: 1 };
};

test('fifty loops at a time go on fused: a call costs an append, whoever else is at work', async () => {
  const world = await MemoryWorld.start({
    partitions: 2,
    catalog: requireCatalog([join(packageRoot, 'test/fixtures/bench')]),
    model,
    tools: { 'bench.echo': ({ arguments: given }) => ({ afterMs: 1, result: given }) },
  });
  for (let n = 0; n < atOnce; n++)
    world.publishGoal({ id: `loop-${n}`, goal: 'bench', plan: 'loop' });
  expect(await world.runUntilDone()).toBe(true);
  const costs = loopCosts(world.records(sessionTopic('normal')), pairs);
  expect(costs.loops).toBe(atOnce);
  expect(costs.turnsFused).toBeGreaterThan(0.8);
  // A loop ends with one model call more than it has pairs.
  const calls = 2 * pairs + 1;
  expect((costs.appendsPerPair * pairs) / calls).toBeLessThanOrEqual(1.1);
});
