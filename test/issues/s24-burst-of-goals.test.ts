// Source: sdk-typescript 2227 (Temporal), a burst of starts ran every worker out of memory, again and again. What a burst
// takes in a real host is measured by `npm run bench -- flood`.
import { expect, test } from 'vitest';
import { MemoryWorld } from '../support/memory-world.ts';

const goals = 250;

test('hundreds of goals in one moment, and the host dies of them: its successor ends each of them, once', async () => {
  const world = await MemoryWorld.start({ partitions: 4 });
  for (let n = 0; n < goals; n++) world.publishGoal({ id: `burst-${n}`, goal: 'Go.', plan: 'ask' });
  const begun = (): boolean => world.results().length >= 20;
  expect(await world.clock.run(60_000, begun)).toBe(true);
  world.crash('host-1');
  await world.startHost('host-2', ['all']);
  expect(await world.runUntilDone()).toBe(true);
  const results = world.results();
  expect(new Set(results.map(({ goalId }) => goalId)).size).toBe(goals);
  expect(results.filter(({ status }) => status !== 'completed')).toEqual([]);
  expect(world.unclosed()).toEqual([]);
});
