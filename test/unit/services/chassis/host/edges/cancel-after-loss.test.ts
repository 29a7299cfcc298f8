// Hard edge 1b.11.
import { expect, test } from 'vitest';
import { CounterWorld, granted, sessionIn } from '../../../../../support/counter-world.ts';
import { cancel } from '../../../../../support/placed-record.ts';

/** Edge 11: a cancel while the host that runs the effect has lost the partition. */

const sessions = [0, 1].map(sessionIn);

test('the cancel reaches the effect at once, and nothing is started again', async () => {
  const world = await CounterWorld.start();
  world.effectMs = 40_000;
  await world.startHost('one');
  for (const session of sessions) world.open(session);
  for (const session of sessions) world.send(session, granted());
  await world.clock.run(500);
  const two = await world.startHost('two');
  await world.clock.run(5_000);
  const [moved] = two.host.status().partitions;
  expect(moved?.owned).toEqual(['counter']);
  const session = sessions[Number(moved?.name.split('/')[1])] ?? '';
  world.send(session, cancel());
  await world.clock.run(100);
  expect(world.stopped).toEqual(['c1']);
  await world.clock.run(60_000);
  expect(world.started).toEqual(['c1', 'c1']);
  expect(world.stopped).toEqual(['c1']);
  expect(world.entry(session).core.status).toBe('closed');
});
