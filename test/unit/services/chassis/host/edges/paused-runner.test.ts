// Hard edge 1b.15.
import { expect, test } from 'vitest';
import { limits } from '../../../../../../schemas/limits.ts';
import { partitionOf } from '../../../../../../services/chassis/log/partition.ts';
import {
  CounterWorld,
  callMs,
  granted,
  partitions,
  sent,
  sessionIn,
  topic,
} from '../../../../../support/counter-world.ts';
import { cancel } from '../../../../../support/placed-record.ts';

/** Edge 15: a call is settled without its runner, which was paused and wakes up. */

const sessions = [0, 1].map(sessionIn);

/**
 * The first host claims, and hears nothing more before it reads its claims back; it goes on beating, so that only its
 * deadline speaks against it. The second host takes one of the two sessions over.
 */
async function paused() {
  let claims = 0;
  const world = await CounterWorld.start({
    append: (at, records, program) => {
      const isClaim = records.some(({ headers }) => headers['lr_types'] === 'tool.claimed');
      if (isClaim && program === 'one') {
        // Something else lands just before, so that the claim has to be read back.
        world.send(sessions[at.partition] ?? '', sent());
        claims += 1;
        if (claims === sessions.length) world.deafen('one');
      }
      return 'ok';
    },
  });
  await world.startHost('one');
  for (const session of sessions) world.open(session);
  await world.clock.run(1_000);
  const claimedAtMs = world.clock.nowMs();
  world.readDelayMs = 50;
  for (const session of sessions) world.send(session, granted());
  await world.clock.run(1_000);
  world.readDelayMs = 0;
  const two = await world.startHost('two');
  const [owned] = two.host.status().partitions;
  const session = sessions[Number(owned?.name.split('/')[1])] ?? '';
  expect(world.countOf(session).claims).toBe(1);
  return { world, claimedAtMs, session };
}

const unseen = (world: CounterWorld, session: string): number =>
  world.typesOf(session).filter((type) => type === 'tool.unknown').length;

test('it is settled only after deadline and grace, and the runner that wakes starts nothing', async () => {
  const { world, claimedAtMs, session } = await paused();
  const graceEndsMs = claimedAtMs + callMs + limits.claimGraceMs;
  await world.clock.run(graceEndsMs - world.clock.nowMs() - 100);
  expect(unseen(world, session)).toBe(0);
  await world.clock.run(5_000);
  expect(unseen(world, session)).toBe(1);
  expect(world.entry(session).core.calls['c1']?.status).toBe('unknown');
  world.wake('one');
  await world.clock.run(10_000);
  expect(world.started).toEqual([]);
  // That it never started is the truth, however late: it settles what nobody knew.
  expect(world.entry(session).core.calls).toEqual({});
  expect(world.countOf(session).outcomes).toBe(1);
  expect(unseen(world, session)).toBe(1);
});

test('a runner that wakes before its deadline still runs, and its outcome counts', async () => {
  const { world, session } = await paused();
  await world.clock.run(callMs / 2);
  world.wake('one');
  await world.clock.run(10_000);
  expect(world.started).toEqual(['c1', 'c1']);
  expect(unseen(world, session)).toBe(0);
  expect(world.countOf(session).outcomes).toBe(1);
});

test('what it says after its session closed is late', async () => {
  const { world, session } = await paused();
  world.send(session, cancel());
  await world.clock.run(2_000);
  expect(world.entry(session).core.status).toBe('closed');
  await world.clock.run(callMs + 20_000);
  world.wake('one');
  await world.clock.run(10_000);
  expect(world.started).toEqual([]);
  expect(world.typesOf(session)).toContain('tool.completed');
  expect(world.countOf(session).outcomes).toBe(0);
  const partition = partitionOf(session, partitions);
  expect(world.cluster.records({ topic, partition }).length).toBeGreaterThan(0);
});
