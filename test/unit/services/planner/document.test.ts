import { expect, it } from 'vitest';
import { mostAtOnce } from '../../../support/at-once.ts';
import { blocksOf } from '../../../support/document-example.ts';
import { filesOfDocument } from '../../../support/document-files.ts';
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

it('makes the rest of a plan anew as docs/plans.md says', async () => {
  const world = await MemoryWorld.start({ catalog: catalogWith(filesOfDocument('docs/plans.md')) });
  world.publishGoal({ goal: 'Read.', plan: 'two-mirrors' });
  expect(await world.runUntilDone()).toBe(true);
  expect(world.results()).toMatchObject([
    { status: 'completed', output: { again: { lines: ['one', 'two'] }, sum: { count: 2 } } },
  ]);
});

it('lets so many run in a pool as docs/plans.md says', async () => {
  const world = await MemoryWorld.start({
    catalog: catalogWith(filesOfDocument('docs/plans.md')),
    tools: { 'test.echo': ({ arguments: given }) => ({ result: given, afterMs: 100 }) },
  });
  const goals = ['acme', 'bolt'].map((tenant) =>
    world.publishGoal({ id: tenant, goal: 'Ask.', plan: 'ask-narrow', tenant }),
  );
  expect(await world.runUntilDone()).toBe(true);
  expect(await mostAtOnce(world, goals)).toEqual({ all: 3, acme: 2, bolt: 1 });
});
