// Hard edge 1b.10.
import { expect, test } from 'vitest';
import { CounterWorld, pinged, sessionIn, timerMs } from '../../../../../support/counter-world.ts';

/** Edge 10: a liveness timer that is set again and again, and a zombie whose clock is fast. */

const sessions = [0, 1].map(sessionIn);
const fastMs = 60_000;

const firedIn = (world: CounterWorld, session: string): number =>
  world.typesOf(session).filter((type) => type === 'timer.fired').length;

async function pingFor(world: CounterWorld, times: number): Promise<void> {
  for (let n = 0; n < times; n++) {
    for (const session of sessions) world.send(session, pinged());
    await world.clock.run(timerMs / 5);
  }
}

test('the timer of who is alive never fires; that of who fell silent fires once', async () => {
  const world = await CounterWorld.start();
  await world.startHost('one');
  for (const session of sessions) world.open(session);
  await pingFor(world, 30);
  expect(sessions.map((one) => firedIn(world, one))).toEqual([0, 0]);
  await world.clock.run(10 * timerMs);
  expect(sessions.map((one) => firedIn(world, one))).toEqual([1, 1]);
  expect(sessions.map((one) => world.countOf(one).fires)).toEqual([1, 1]);
  await pingFor(world, 1);
  await world.clock.run(10 * timerMs);
  expect(sessions.map((one) => world.countOf(one).fires)).toEqual([2, 2]);
});

test('what a zombie with a fast clock fires early is void, and the right one still fires', async () => {
  const world = await CounterWorld.start();
  world.fastMs.set('one', fastMs);
  await world.startHost('one');
  for (const session of sessions) world.open(session);
  // By the clock of the first host it is a minute later: so are the due times of its timers.
  await pingFor(world, 7);
  world.deafen('one');
  const two = await world.startHost('two');
  const [owned] = two.host.status().partitions;
  const session = sessions[Number(owned?.name.split('/')[1])] ?? '';
  await world.clock.run(2 * timerMs);
  expect(firedIn(world, session)).toBe(1);
  expect(world.countOf(session).fires).toBe(0);
  await world.clock.run(fastMs + timerMs);
  expect(world.countOf(session).fires).toBe(1);
  world.wake('one');
  await world.clock.run(2 * fastMs);
  expect(world.countOf(session).fires).toBe(1);
});

test('a timer that a host fired and lost the partition before it landed is fired by the next', async () => {
  const world = await CounterWorld.start({
    append: (_at, records, program) => {
      const fires = records.some(({ headers }) => headers['lr_types'] === 'timer.fired');
      return fires && program === 'one' ? { delayMs: 10_000 } : 'ok';
    },
  });
  const one = await world.startHost('one');
  for (const session of sessions) world.open(session);
  await pingFor(world, 1);
  await world.clock.run(timerMs);
  const two = await world.startHost('two');
  const [owned] = two.host.status().partitions;
  const session = sessions[Number(owned?.name.split('/')[1])] ?? '';
  await world.clock.run(30_000);
  expect(firedIn(world, session)).toBe(2);
  expect(sessions.map((each) => world.countOf(each).fires)).toEqual([1, 1]);
  expect(one.host.status().partitions).toHaveLength(1);
});
