import { describe, expect, test } from 'vitest';
import { presenceTopic } from '../../../../../../schemas/topics.ts';
import type { LogPort } from '../../../../../../services/chassis/log/port.ts';
import { CounterWorld, sent, sessionIn, topic } from '../../../../../support/counter-world.ts';

/** What is read before the group says whose it is, after a host died or only seemed to. */

const sessions = [0, 1].map(sessionIn);
const noticedMs = 8_000;

/** Two hosts with a partition each, and a session in both. `quiet`: heartbeats of the first one are lost. */
async function pair(change?: (log: LogPort) => LogPort) {
  let quiet = false;
  const world = await CounterWorld.start(
    {
      append: ({ topic: name }, _records, program) =>
        quiet && name === presenceTopic && program === 'one' ? 'lost' : 'ok',
    },
    2,
    noticedMs,
  );
  const one = await world.startHost('one');
  const two = await world.startHost('two', 1_000, change);
  for (const session of sessions) {
    world.open(session);
    world.send(session, sent());
  }
  await world.clock.run(2_000);
  const other = one.host.status().partitions[0]?.name ?? '';
  const session = sessions[Number(other.slice(-1))] as string;
  const epochs = (): (string | undefined)[] =>
    world
      .records(session)
      .filter(({ headers }) => headers['lr_kind'] === 'epoch')
      .map(({ key }) => key);
  const silence = (on: boolean): void => {
    quiet = on;
  };
  return { world, one, two, other, session, epochs, silence };
}

const read = ({ host }: Awaited<ReturnType<CounterWorld['startHost']>>, name: string) =>
  host.status().partitions.find((one) => one.name === name);

describe('a host that died', () => {
  test('has its partition read by its successor before the group says so, and nothing more', async () => {
    const { world, two, other, session, epochs } = await pair();
    const before = epochs();
    world.crash('one');
    world.send(session, sent());
    await world.clock.run(noticedMs - 2_000);
    expect(read(two, other)).toEqual({ name: other, owned: [] });
    expect(two.host.ready).toBe(true);
    expect(two.host.positions().map(({ partition }) => `${topic}/${partition}`)).not.toContain(
      other,
    );
    expect(epochs()).toEqual(before);
    expect(world.countOf(session)).toMatchObject({ sent: 2, answered: 1 });
  });

  test('is succeeded by it as by any other', async () => {
    const { world, two, other, session, epochs } = await pair();
    world.crash('one');
    await world.clock.run(noticedMs - 2_000);
    world.send(session, sent());
    await world.clock.run(10_000, () => (read(two, other)?.owned.length ?? 0) > 0);
    await world.clock.run(2_000);
    expect(epochs().at(-1)).toBe('epoch/two');
    expect(world.countOf(session)).toMatchObject({ sent: 2, answered: 2 });
    world.send(session, sent());
    await world.clock.run(2_000);
    expect(world.countOf(session)).toMatchObject({ sent: 3, answered: 3 });
  });
});

test('a host that was only silent keeps its partition, and nobody reads it any more', async () => {
  const { world, two, other, session, epochs, silence } = await pair();
  const before = epochs();
  silence(true);
  await world.clock.run(4_000);
  expect(read(two, other)).toEqual({ name: other, owned: [] });
  silence(false);
  await world.clock.run(3_000);
  expect(read(two, other)).toBeUndefined();
  world.send(session, sent());
  await world.clock.run(2_000);
  expect(world.countOf(session)).toMatchObject({ sent: 2, answered: 2 });
  expect(epochs()).toEqual(before);
});

test('what cannot be read ahead is opened when the group gives it, and no alarm says otherwise', async () => {
  let refuses = false;
  const { world, two, other, session } = await pair((log) => ({
    ...log,
    bounds: (name) =>
      refuses && name === topic ? Promise.reject(new Error('not now')) : log.bounds(name),
  }));
  refuses = true;
  world.crash('one');
  await world.clock.run(noticedMs - 2_000);
  expect(read(two, other)).toBeUndefined();
  expect(two.host.status().halted).toEqual({});
  refuses = false;
  await world.clock.run(10_000, () => (read(two, other)?.owned.length ?? 0) > 0);
  world.send(session, sent());
  await world.clock.run(2_000);
  expect(world.countOf(session)).toMatchObject({ sent: 2, answered: 2 });
});

test('a host that stops lets go of what it reads ahead', async () => {
  const { world, two, other } = await pair();
  world.crash('one');
  await world.clock.run(noticedMs - 2_000);
  expect(read(two, other)).toBeDefined();
  await world.during(two.host.stop(4_000));
  expect(read(two, other)).toBeUndefined();
});
