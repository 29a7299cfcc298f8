// Hard edge 1b.4.
import { describe, expect, test } from 'vitest';
import { partitionOf } from '../../../../../../services/chassis/log/partition.ts';
import { CounterWorld, partitions, sent, topic } from '../../../../../support/counter-world.ts';
import { startJanitor } from '../../../../../support/memory-janitor.ts';
import { cancel } from '../../../../../support/placed-record.ts';

/** A start-up that meets a session's records before the checkpoint that it is to start from. */

const session = 'ses_long';
const other = Array.from({ length: 50 }, (_, n) => `ses_${n}`).find(
  (name) => partitionOf(name, partitions) === partitionOf(session, partitions),
) as string;
const at = { topic, partition: partitionOf(session, partitions) };

async function sendMany(world: CounterWorld, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    world.send(session, sent());
    await world.clock.run(20);
  }
}

const answered = (world: CounterWorld, of = session): number =>
  world.typesOf(of).filter((type) => type === 'task.skipped').length;

/** Stops in good order: what a host holds in memory stands in its last checkpoint. */
async function stateOf(
  world: CounterWorld,
  started: { host: { stop(ms: number): Promise<void> } },
) {
  await world.during(started.host.stop(8_000));
  return world.checkpointsOf(session).at(-1)?.stateHash;
}

describe('a session whose checkpoint another session keeps from being the start', () => {
  test('begun above the start: its opening, its turns, and then its checkpoint are read', async () => {
    const world = await CounterWorld.start();
    const first = await world.startHost('one');
    world.open(other);
    world.open(session);
    await sendMany(world, 120);
    await world.clock.run(3_000);
    expect(world.checkpointsOf(session)).toHaveLength(1);
    await sendMany(world, 3);
    first.log.crash();
    const second = await world.startHost('two');
    await sendMany(world, 2);
    expect(answered(world)).toBe(125);
    expect(await stateOf(world, second)).toBe(world.stateHash(session));
  });

  test('begun below the start: what comes before its checkpoint is no session of its own', async () => {
    const world = await CounterWorld.start();
    const first = await world.startHost('one');
    world.open(session);
    await sendMany(world, 120);
    await world.clock.run(3_000);
    world.open(other);
    // An opening that is sent again must not begin it anew, nor a cancel of that time be lost.
    world.open(session);
    await sendMany(world, 110);
    await world.clock.run(3_000);
    expect(world.checkpointsOf(session)).toHaveLength(2);
    const janitor = await startJanitor(world);
    await janitor.run();
    expect(world.cluster.topics.partition(at)?.bounds.low).toBeGreaterThan(200);
    first.log.crash();
    const second = await world.startHost('two');
    const before = answered(world);
    await sendMany(world, 2);
    expect(answered(world)).toBe(before + 2);
    world.send(session, cancel());
    await world.clock.run(500);
    expect(world.typesOf(session).at(-1)).toBe('session.closed');
    expect(second.host.status().halted).toEqual({});
  });

  test('closed between the checkpoint and the start-up: it stays closed', async () => {
    const world = await CounterWorld.start();
    const first = await world.startHost('one');
    world.open(other);
    world.open(session);
    await sendMany(world, 120);
    await world.clock.run(3_000);
    world.send(session, cancel());
    await world.clock.run(2_000);
    first.log.crash();
    await world.startHost('two');
    const closed = world.typesOf(session).filter((type) => type === 'session.closed');
    world.open(session);
    await sendMany(world, 2);
    expect(world.typesOf(session).filter((type) => type === 'session.closed')).toEqual(closed);
    expect(answered(world)).toBe(120);
    expect(answered(world, other)).toBe(0);
  });
});
