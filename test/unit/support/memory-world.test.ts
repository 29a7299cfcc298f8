import { expect, test } from 'vitest';
import { keysTopic } from '../../../schemas/topics.ts';
import { canonical } from '../../../services/chassis/protocol/hash.ts';
import { MemoryWorld } from '../../support/memory-world.ts';
import { recordWorld, scenarios } from '../../support/recorded-world.ts';

const apart = [
  ['intake', 'planner', 'supervisor'],
  ['worker-pool', 'tool-guard', 'aggregator'],
  ['model-gateway', 'tool-runner', 'sandbox-executor'],
];

test('every goal gets its one result, and every session and goal log is closed', async () => {
  const { world } = await recordWorld();
  const statuses = Object.fromEntries(world.results().map((one) => [one.goalId, one.status]));
  expect(statuses).toEqual({
    simple: 'completed',
    retried: 'completed',
    failing: 'failed',
    cancelled: 'cancelled',
    late: 'failed',
    denied: 'failed',
    asked: 'completed',
    keyed: 'completed',
    queued: 'completed',
    refused: 'rejected',
  });
  expect(world.results()).toHaveLength(scenarios.length);
  expect(world.unclosed()).toEqual([]);
  expect(world.unclosed([keysTopic])).toEqual([]);
  expect(world.fatal).toEqual([]);
});

test('the same options and calls give the same log, byte for byte', async () => {
  const [one, other] = [await recordWorld(), await recordWorld()];
  const bytes = ({ world }: typeof one) =>
    canonical(
      world.records().map(({ headers, value }) => ({ headers, value: [...(value ?? [])] })),
    );
  expect(bytes(one) === bytes(other)).toBe(true);
});

test('services in hosts of their own come to the same results', async () => {
  const [one, other] = [await recordWorld(), await recordWorld({ hosts: apart })];
  const outputs = ({ world }: typeof one) =>
    Object.fromEntries(
      world.results().map(({ goalId, status, output }) => [goalId, { status, output }]),
    );
  expect(outputs(other)).toEqual(outputs(one));
});

test('after a crash another host goes on, and what may be repeated is repeated', async () => {
  const world = await MemoryWorld.start({ seed: 3 });
  world.publishGoal({ goal: 'Wait, then count.', plan: 'hurry', inputs: { waitMs: 1_000 } });
  await world.clock.run(200, () => world.started.length === 1);
  world.crash('host-1');
  await world.startHost('host-2', ['all']);
  expect(await world.runUntilDone()).toBe(true);
  expect(world.started.filter(({ name }) => name === 'test.count')).toHaveLength(1);
});
