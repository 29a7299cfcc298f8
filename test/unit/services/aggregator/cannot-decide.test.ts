import { expect, test } from 'vitest';
import { deadLettersTopic } from '../../../../schemas/topics.ts';
import type { AnyLogic } from '../../../../services/chassis/protocol/service-logic.ts';
import { MemoryWorld } from '../../../support/memory-world.ts';

type Fails = (input: Parameters<AnyLogic['decide']>[1]) => boolean;

/** A world whose services of this name throw where they are told to. */
async function worldWhere(names: readonly string[], fails: Fails): Promise<MemoryWorld> {
  const world = await MemoryWorld.start({ hosts: [], housekeepingMs: 50 });
  const change = (logic: AnyLogic): AnyLogic => {
    if (!names.includes(logic.name)) return logic;
    const decide: AnyLogic['decide'] = (state, input) => {
      if (fails(input)) throw new Error('cannot do that');
      return logic.decide(state, input);
    };
    return { ...logic, decide };
  };
  await world.startHost('host-1', ['all'], { release: '0.0.0-test', change });
  world.publishGoal({ goal: 'Count.', plan: 'count', inputs: { counter: 'c', waitMs: 100 } });
  return world;
}

const settled: Fails = ({ causes }) => causes.some(({ type }) => type === 'task.completed');

const letters = (world: MemoryWorld) =>
  [...world.cluster.topics.get(deadLettersTopic).partitions.keys()]
    .flatMap((partition) => world.cluster.records({ topic: deadLettersTopic, partition }))
    .map(({ value }) => world.codec.decode(value ?? new Uint8Array()).body);

test('an aggregator that fails still gives a result, and its session closes with its letter sent', async () => {
  const world = await worldWhere(['aggregator'], settled);
  expect(await world.runUntilDone(120_000)).toBe(true);
  expect(world.results()).toMatchObject([
    {
      status: 'failed',
      error: {
        code: 'DECISION_FAILED',
        message: expect.stringMatching(/aggregator could not decide/),
      },
    },
  ]);
  expect(letters(world)).toMatchObject([
    { service: 'aggregator', reason: { code: 'DECISION_THREW', message: 'cannot do that' } },
  ]);
});

test('a supervisor and an aggregator that fail together leave a result and two letters', async () => {
  const world = await worldWhere(['supervisor', 'aggregator'], settled);
  expect(await world.runUntilDone(120_000)).toBe(true);
  expect(world.results()).toMatchObject([{ status: 'failed', error: { code: 'DECISION_FAILED' } }]);
  const services = letters(world).map((one) => (one as { service: string }).service);
  expect(services.sort()).toEqual(['aggregator', 'supervisor']);
});
