import { expect, it } from 'vitest';
import { blocksOf } from '../../../support/document-example.ts';
import { MemoryWorld } from '../../../support/memory-world.ts';
import { catalogWith } from '../../../support/world-proof.ts';

it('does what docs/plans.md says', async () => {
  const [plan = '', counter = '', reporter = '', checker = ''] = blocksOf('plans.md', 'yaml');
  const catalog = catalogWith({
    'plans/word-report.yaml': plan,
    'agents/word-counter.yaml': counter,
    'agents/reporter.yaml': reporter,
    'agents/checker.yaml': checker,
  });
  const world = await MemoryWorld.start({ catalog });
  const texts = ['one two', 'three', 'four five six seven eight nine ten eleven'];
  world.publishGoal({ goal: 'Count.', plan: 'word-report', inputs: { texts } });
  expect(await world.runUntilDone()).toBe(true);
  expect(world.results()).toMatchObject([
    { status: 'completed', output: { report: 'about 10 words' } },
  ]);
});
