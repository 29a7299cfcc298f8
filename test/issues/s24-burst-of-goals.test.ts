// Source: sdk-typescript 2227 (Temporal), a burst of starts ran every worker out of memory, again and again. What a burst
// takes in a real host is measured by `npm run bench -- flood`.
import { afterEach, expect, test, vi } from 'vitest';
import { limits } from '../../schemas/limits.ts';
import { goalsTopic, sessionTopic } from '../../schemas/topics.ts';
import { RecordQueue } from '../../services/chassis/host/record-queue.ts';
import { MemoryReader } from '../../services/chassis/log/memory/memory-reader.ts';
import { MemoryWorld } from '../support/memory-world.ts';

const goals = 250;
/** What a reader brings at once. */
const deliveryMax = 500;

afterEach(() => vi.restoreAllMocks());

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

test('thousands of goals that wait: reading pauses, what is queued stays bounded, and each is taken once', async () => {
  const backlog = 1.5 * limits.goalsWritingMax;
  const world = await MemoryWorld.start({ partitions: 1, hosts: [] });
  for (let n = 0; n < backlog; n++)
    world.publishGoal({ id: `burst-${n}`, goal: 'Go.', plan: 'ask' });
  await world.clock.run(1_000);
  const paused = vi.spyOn(MemoryReader.prototype, 'pause');
  const resumed = vi.spyOn(MemoryReader.prototype, 'resume');
  const { push } = RecordQueue.prototype;
  let most = 0;
  vi.spyOn(RecordQueue.prototype, 'push').mockImplementation(function (this: RecordQueue, records) {
    push.call(this, records);
    most = Math.max(most, this.position - this.expected);
  });
  await world.startHost('host-1', ['intake']);
  const opened = (): number =>
    world
      .records(sessionTopic('normal'))
      .filter(({ headers }) => headers['lr_types'] === 'session.opened').length;
  expect(await world.clock.run(120_000, () => opened() >= backlog)).toBe(true);
  expect(paused.mock.calls.some(([{ topic }]) => topic === goalsTopic)).toBe(true);
  expect(resumed.mock.calls.some(([{ topic }]) => topic === goalsTopic)).toBe(true);
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThanOrEqual(limits.partitionQueueMax + deliveryMax);
  expect(opened()).toBe(backlog);
});
