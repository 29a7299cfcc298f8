import { expect, test } from 'vitest';
import { partitionOf } from '../../../../../services/chassis/log/partition.ts';
import { CounterWorld, granted, partitions, sent } from '../../../../support/counter-world.ts';

/** Two sessions, one in each partition, so that one of them moves when a second host joins. */
const sessions = [0, 1].map((partition) => {
  const name = ['a', 'b', 'c', 'd', 'e', 'f'].find(
    (one) => partitionOf(`ses_${one}`, partitions) === partition,
  );
  return `ses_${name}`;
});

const resultsOf = (world: CounterWorld): string[] =>
  sessions.flatMap((session) =>
    world
      .records(session)
      .filter(({ headers }) => headers['lr_types'] === 'tool.completed')
      .map(({ value }) => /"result":\{[^}]*"body":"([^"]*)"/.exec(String(value))?.[1] ?? ''),
  );

test('a claim that is read back after its partition was taken away is carried out all the same', async () => {
  const world = await CounterWorld.start({
    append: (at, records) => {
      const isClaim = records.some(({ headers }) => headers['lr_types'] === 'tool.claimed');
      // Something else lands just before: the claim has to be read back.
      if (isClaim) world.send(sessions[at.partition] ?? '', sent());
      return 'ok';
    },
  });
  await world.startHost('one');
  for (const session of sessions) world.open(session);
  world.readDelayMs = 300;
  for (const session of sessions) world.send(session, granted());
  await world.clock.run(305);
  await world.startHost('two');
  await world.clock.run(20_000);
  expect(world.started).toEqual(['c1', 'c1']);
  expect(resultsOf(world)).toEqual(['done', 'done']);
});

test('an effect that runs while its partition moves is not started again', async () => {
  const world = await CounterWorld.start();
  world.effectMs = 3_000;
  await world.startHost('one');
  for (const session of sessions) world.open(session);
  for (const session of sessions) world.send(session, granted());
  await world.clock.run(1_000);
  const two = await world.startHost('two');
  await world.clock.run(20_000);
  expect(two.host.status().partitions).toHaveLength(1);
  expect(world.started).toEqual(['c1', 'c1']);
  expect(resultsOf(world)).toEqual(['done', 'done']);
  for (const session of sessions) world.send(session, sent());
  await world.clock.run(1_000);
  for (const session of sessions)
    expect(world.typesOf(session).filter((one) => one === 'task.skipped')).toHaveLength(1);
});
