import { expect, test } from 'vitest';
import type { Host } from '../../../../services/chassis/host/host.ts';
import type { ServiceContext } from '../../../../services/chassis/host/service-context.ts';
import { Watermarks } from '../../../../services/chassis/host/watermarks.ts';
import { createJanitor } from '../../../../services/janitor/service.ts';
import { CounterWorld, sent, topic } from '../../../support/counter-world.ts';
import { quietPorts } from '../../../support/quiet-ports.ts';

const lows = (world: CounterWorld): number[] =>
  world.cluster.topics.get(topic).partitions.map(({ bounds }) => bounds.low);

/** The service beside a host, as `longrein start janitor` runs it. */
async function started(world: CounterWorld, name: string) {
  const log = world.cluster.connect(name);
  const ports = quietPorts(log, world.clock);
  const watermarks = new Watermarks(ports);
  await world.during(watermarks.start());
  const config = { retentionDays: 0, housekeepingMs: 1_000 };
  const { hosted, companion } = await createJanitor({ ports, config } as unknown as ServiceContext);
  expect(hosted.topics).toEqual([]);
  await world.during(companion?.start({ watermarks } as Host) ?? Promise.resolve());
  return { log, stop: () => world.during(companion?.stop() ?? Promise.resolve()) };
}

async function worked(): Promise<CounterWorld> {
  const world = await CounterWorld.start();
  await world.startHost('one');
  for (const session of ['ses_a', 'ses_b', 'ses_c', 'ses_d']) {
    world.open(session);
    for (let i = 0; i < 110; i++) {
      world.send(session, sent());
      await world.clock.run(20);
    }
  }
  await world.clock.run(3_000);
  expect(lows(world)).toEqual([0, 0]);
  return world;
}

test('it goes round by itself, over what its group gives it', async () => {
  const world = await worked();
  await started(world, 'janitor-1');
  await world.clock.run(15_000);
  expect(lows(world).every((low) => low > 100)).toBe(true);
});

test('of two each has its part; when one dies the other has all, and one that is stopped does nothing', async () => {
  const world = await worked();
  const first = await started(world, 'janitor-1');
  const second = await started(world, 'janitor-2');
  first.log.crash();
  await world.clock.run(15_000);
  const after = lows(world);
  expect(after.every((low) => low > 100)).toBe(true);
  await second.stop();
  for (let i = 0; i < 220; i++) {
    world.send('ses_a', sent());
    await world.clock.run(20);
  }
  await world.clock.run(60_000);
  expect(lows(world)).toEqual(after);
});
