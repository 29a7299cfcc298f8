// Hard edge 1b.5.
import { expect, test } from 'vitest';
import { CounterWorld, granted, sent, sessionIn } from '../../../../../support/counter-world.ts';

/** Edge 5: a partition that leaves and comes back in one process, its claims read again. */

const sessions = [0, 1].map(sessionIn);

async function granting(effectMs: number) {
  const world = await CounterWorld.start();
  world.effectMs = effectMs;
  const one = await world.startHost('one');
  for (const session of sessions) world.open(session);
  for (const session of sessions) world.send(session, granted());
  await world.clock.run(500);
  expect(world.started).toEqual(['c1', 'c1']);
  return { world, one };
}

async function expectWhole(world: CounterWorld, grants: number): Promise<void> {
  for (const session of sessions) world.send(session, sent());
  await world.clock.run(10_000);
  for (const session of sessions) {
    const { claims, outcomes, answered } = world.countOf(session);
    expect({ claims, outcomes, answered }).toEqual({
      claims: grants,
      outcomes: grants,
      answered: 1,
    });
  }
  const unseen = sessions.flatMap((one) =>
    world.typesOf(one).filter((type) => type === 'tool.unknown'),
  );
  expect(unseen).toEqual([]);
}

test.each(['stops', 'crashes'])(
  'no effect starts twice when the other host %s and the log is read again',
  async (end) => {
    const { world, one } = await granting(10);
    const two = await world.startHost('two');
    // Long enough to be dropped from memory: what comes back is read from the mark again.
    await world.clock.run(10_000);
    expect(one.host.status().partitions).toHaveLength(1);
    if (end === 'stops') await world.during(two.host.stop(8_000));
    else two.log.crash();
    const both = (): boolean => one.host.status().partitions.length === 2 && one.host.ready;
    expect(await world.clock.run(20_000, both)).toBe(true);
    await expectWhole(world, 1);
    expect(world.started).toEqual(['c1', 'c1']);
  },
);

test('an effect that runs meanwhile goes on, and is neither lost nor started again', async () => {
  const { world, one } = await granting(8_000);
  const two = await world.startHost('two');
  await world.clock.run(2_000);
  await world.during(two.host.stop(8_000));
  await world.clock.run(3_000, () => one.host.ready);
  expect(one.host.ready).toBe(true);
  await world.clock.run(10_000);
  await expectWhole(world, 1);
  expect(world.started).toEqual(['c1', 'c1']);
});
