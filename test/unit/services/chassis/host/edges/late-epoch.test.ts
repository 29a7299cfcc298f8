// Hard edge 1b.1.
import { expect, test } from 'vitest';
import { limits } from '../../../../../../schemas/limits.ts';
import { presenceTopic } from '../../../../../../schemas/topics.ts';
import type { Heartbeat } from '../../../../../../services/chassis/host/presence.ts';
import { createFixedCodec } from '../../../../../../services/chassis/log/codec.ts';
import { CounterWorld, sent, sessionIn, topic } from '../../../../../support/counter-world.ts';
import { epochBody, recordOf } from '../../../../../support/written-session.ts';

/** Edge 1: an epoch request that arrives late, from a host that lives but does not read the partition. */

/** What the host said of itself last. */
function listedBy(world: CounterWorld, host: string): Heartbeat['partitions'] {
  const beats = world.cluster
    .records({ topic: presenceTopic, partition: 0 })
    .map(({ value }) => createFixedCodec().decode(value ?? new Uint8Array()).body as Heartbeat);
  return beats.findLast((beat) => beat.host === host)?.partitions ?? {};
}

type WorldHost = Awaited<ReturnType<CounterWorld['startHost']>>;
const ownedBy = ({ host }: WorldHost): string[] =>
  host
    .status()
    .partitions.filter(({ owned }) => owned.length > 0)
    .map(({ name }) => name);

const lateEpoch = (one: WorldHost, number: number) =>
  recordOf(
    'epo_late',
    epochBody({ services: ['counter'], number, incarnation: one.host.identity.incarnation }),
    createFixedCodec(),
  );

/** Two hosts with a partition each, and the one that the second took from the first. */
async function moved() {
  const world = await CounterWorld.start();
  const one = await world.startHost('one');
  const session = [sessionIn(0), sessionIn(1)];
  for (const name of session) world.open(name);
  await world.clock.run(1_000);
  const two = await world.startHost('two');
  await world.clock.run(5_000);
  const [name = ''] = ownedBy(two);
  const partition = Number(name.split('/')[1]);
  return { world, one, two, name, partition, session: sessionIn(partition) };
}

test('whoever wins by it does not act and does not list it, and somebody owns within 3 T', async () => {
  const { world, one, two, name, partition, session } = await moved();
  world.cluster.write({ topic, partition }, [lateEpoch(one, 50)]);
  const fromMs = world.clock.nowMs();
  world.send(session, sent());
  await world.clock.run(limits.presenceMs);
  expect([ownedBy(one).includes(name), ownedBy(two)]).toEqual([false, []]);
  expect(listedBy(world, 'one')).not.toHaveProperty([name]);
  expect(world.countOf(session).answered).toBe(0);
  expect(await world.clock.run(60_000, () => ownedBy(two).includes(name))).toBe(true);
  expect(world.clock.nowMs() - fromMs).toBeLessThan(3 * limits.presenceMs);
  await world.clock.run(2_000);
  expect(listedBy(world, 'two')[name]).toEqual({ counter: 51 });
  expect(world.countOf(session).answered).toBe(1);
});

test('a host whose own request it made void owns within 3 T', async () => {
  const arrivesMs = 14_000;
  const world = await CounterWorld.start({
    append: (at, records, program) => {
      const isEpoch = records.some(({ headers }) => headers['lr_kind'] === 'epoch');
      if (!isEpoch || at.topic !== topic) return 'ok';
      const passedMs = world.clock.nowMs() - startedMs;
      // That of the second host is sent before the late one arrives, and arrives after it.
      if (program === 'two') return passedMs < arrivesMs ? { delayMs: 6_000 } : 'ok';
      // Only the first copy arrives, and the process does not hear of it.
      return passedMs < 1_000 ? { delayMs: arrivesMs, timeoutMs: 100 } : 'lost';
    },
  });
  const startedMs = world.clock.nowMs();
  const one = await world.startHost('one');
  const { host } = await world.startHost('two');
  expect(await world.clock.run(60_000, () => host.ready)).toBe(true);
  const waitedMs = world.clock.nowMs() - startedMs - arrivesMs;
  expect(waitedMs).toBeGreaterThan(limits.presenceMs);
  expect(waitedMs).toBeLessThan(3 * limits.presenceMs);
  const [own = '', ...more] = ownedBy(one);
  expect([own === '', more, ownedBy({ ...one, host }).includes(own)]).toEqual([false, [], false]);
});

test('an owner that is heard and lists its epoch is left alone, for as long as it does', async () => {
  const { world, one, two, name, partition, session } = await moved();
  await world.clock.run(20 * limits.presenceMs);
  const epochs = world
    .records(session)
    .filter(({ headers }) => headers['lr_kind'] === 'epoch').length;
  expect(epochs).toBe(2);
  expect([ownedBy(one).length, ownedBy(two)]).toEqual([1, [name]]);
  expect(listedBy(world, 'one')).toEqual({ [`${topic}/${1 - partition}`]: { counter: 1 } });
});
