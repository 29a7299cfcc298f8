import { expect, test } from 'vitest';
import type { AnyLogic } from '../../../../services/chassis/protocol/service-logic.ts';
import { MemoryWorld } from '../../../support/memory-world.ts';

test('a goal that intake cannot decide about is rejected, and the goal behind it under its key goes on', async () => {
  const world = await MemoryWorld.start({ hosts: [], housekeepingMs: 50 });
  const change = (logic: AnyLogic): AnyLogic => {
    if (logic.name !== 'intake') return logic;
    const decide: AnyLogic['decide'] = (state, input) => {
      if (input.causes.some(({ type, data }) => type === 'goal.received' && isBad(data)))
        throw new Error('cannot do that');
      return logic.decide(state, input);
    };
    return { ...logic, decide };
  };
  const isBad = (data: object): boolean => (data as { goalId?: string }).goalId === 'bad';
  await world.startHost('host-1', ['all'], { release: '0.0.0-test', change });
  world.publishGoal({ id: 'bad', goal: 'Go on.', plan: 'echo', key: 'k' });
  await world.clock.run(1_000);
  world.publishGoal({ id: 'good', goal: 'Go on.', plan: 'echo', key: 'k' });
  expect(await world.clock.run(120_000, () => world.results().length === 2)).toBe(true);
  const results = new Map(world.results().map((one) => [one['goalId'], one]));
  expect(results.get('bad')).toMatchObject({
    status: 'rejected',
    error: { code: 'DECISION_FAILED' },
  });
  expect(results.get('good')).toMatchObject({ status: 'completed' });
});
