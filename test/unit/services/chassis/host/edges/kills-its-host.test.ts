// Hard edge 1b.12.
import { describe, expect, test } from 'vitest';
import { event } from '../../../../../../schemas/event.ts';
import { deadLettersTopic, presenceTopic } from '../../../../../../schemas/topics.ts';
import type { Heartbeat } from '../../../../../../services/chassis/host/presence.ts';
import { createFixedCodec } from '../../../../../../services/chassis/log/codec.ts';
import { CounterWorld, sent, topic } from '../../../../../support/counter-world.ts';
import { idleLogic } from '../../../../../support/placed-record.ts';

/** Edge 12: an event that kills its host, among 64 partitions of innocent ones. */

const innocent = Array.from({ length: 96 }, (_one, index) => `ses_${index}`);
const guilty = 'ses_guilty';
const codec = createFixedCodec();

type Started = Awaited<ReturnType<CounterWorld['startHost']>>;

/** Hosts that die of deciding something, and the one that runs. A successor starts as soon as one has died. */
class Succession {
  readonly died: string[] = [];
  current: Started | undefined;
  readonly world: CounterWorld;
  private count = 0;

  get name(): string {
    return `host-${this.count}`;
  }

  constructor(world: CounterWorld, kills: (session: string) => boolean) {
    this.world = world;
    world.onDecide = (host, session) => {
      if (!kills(session)) return;
      if (!this.died.includes(host)) this.die(host);
      // Nothing of a dead process happens any more.
      throw new Error('dead');
    };
  }

  die(host: string): void {
    this.died.push(host);
    this.world.crash(host);
  }

  async next(): Promise<void> {
    this.count += 1;
    this.current = await this.world.startHost(this.name);
  }

  /** Lets the world go on for so long; who has died is succeeded. */
  async run(forMs: number): Promise<void> {
    for (let passedMs = 0; passedMs < forMs; passedMs += 1_000) {
      await this.world.clock.run(1_000);
      if (this.died.includes(this.name)) await this.next();
    }
  }

  beats(): Heartbeat[] {
    return this.bodies(presenceTopic) as Heartbeat[];
  }

  letters(): unknown[] {
    return this.bodies(deadLettersTopic);
  }

  private bodies(topic: string): unknown[] {
    const { cluster } = this.world;
    return cluster.topics
      .get(topic)
      .partitions.flatMap((_one, partition) => cluster.records({ topic, partition }))
      .map(({ value }) => codec.decode(value ?? new Uint8Array()).body);
  }
}

async function succession(kills: (session: string) => boolean, count = 64) {
  const world = await CounterWorld.start({}, count);
  const hosts = new Succession(world, kills);
  await hosts.next();
  for (const session of [...innocent, guilty]) world.open(session);
  await world.clock.run(500);
  return { world, hosts };
}

describe('an event that kills its host, among 64 partitions of innocent ones', () => {
  test('is given up after two hosts died on it alone: its session fails, and all others go on', async () => {
    let armed = false;
    const { world, hosts } = await succession((session) => armed && session === guilty);
    armed = true;
    world.send(guilty, sent());
    await hosts.run(90_000);
    expect(hosts.died).toHaveLength(3);
    const { failed } = world.entry(guilty).core;
    expect(failed).toEqual(['counter']);
    const [said] = world.eventsOf(guilty, 'decision.failed');
    expect(said?.data).toMatchObject({
      service: 'counter',
      code: 'POISON',
      origin: { topic, record: expect.stringMatching(/^inp_/) },
    });
    const letters = hosts.letters();
    expect(letters).toMatchObject([
      { reason: { code: 'POISON' }, session: guilty, service: 'counter', origin: { topic } },
    ]);
    for (const session of innocent) world.send(session, sent());
    world.send(guilty, sent());
    await hosts.run(5_000);
    expect(innocent.filter((session) => world.countOf(session).answered !== 1)).toEqual([]);
    expect(world.countOf(guilty).answered).toBe(0);
    expect(hosts.died).toHaveLength(3);
    const alarms = hosts.current?.logger.lines.filter(({ level }) => level === 'error') ?? [];
    expect(alarms.map(({ message }) => message)).toEqual(['poison: not decided any more']);
  });

  test('holds up innocent sessions for no longer than a takeover takes', async () => {
    let armed = false;
    const { world, hosts } = await succession((session) => armed && session === guilty);
    armed = true;
    world.send(guilty, sent());
    for (let n = 1; n <= 3; n++) {
      for (const session of innocent) world.send(session, sent());
      await hosts.run(30_000);
      const answered = innocent.filter((session) => world.countOf(session).answered === n);
      expect(answered).toHaveLength(innocent.length);
    }
  });

  test('is found among many that are due at once, and none of those is taken for it', async () => {
    let armed = false;
    const { world, hosts } = await succession((session) => armed && session === guilty, 1);
    armed = true;
    for (const session of innocent) world.send(session, sent());
    world.send(guilty, sent());
    await hosts.run(120_000);
    expect(hosts.died.length).toBeLessThanOrEqual(4);
    expect(world.entry(guilty).core.failed).toEqual(['counter']);
    expect(innocent.filter((session) => world.countOf(session).answered !== 1)).toEqual([]);
    expect(innocent.flatMap((session) => world.entry(session).core.failed)).toEqual([]);
  });
});

/** Sets a timer at its opening, and answers when it fired. */
const waiter = idleLogic<Readonly<{ opened: number; set: number; fired: number; told: number }>>({
  name: 'counter',
  initial: () => ({ opened: 0, set: 0, fired: 0, told: 0 }),
  evolve(state, { type }) {
    if (type === 'session.opened') return { ...state, opened: 1 };
    if (type === 'timer.set') return { ...state, set: 1 };
    if (type === 'timer.fired') return { ...state, fired: 1 };
    return type === 'task.skipped' ? { ...state, told: 1 } : state;
  },
  answers: ({ type }) => type === 'session.opened' || type === 'timer.fired',
  decide({ opened, set, fired, told }, { nowMs }) {
    if (opened > set) return [event('timer.set', { timer: 't', dueAtMs: nowMs + 3_000 })];
    return fired > told ? [event('task.skipped', { task: 't', because: 'counted' })] : [];
  },
});

test('a timer whose answer kills its host is in the log before it is answered by the next one', async () => {
  const world = await CounterWorld.start({}, 4);
  const hosts = new Succession(world, (session) => session === guilty);
  world.servicesOf = (host) => {
    const decide: typeof waiter.decide = (state, input) => {
      if ((state as { fired: number }).fired > 0) world.onDecide(host, input.session.session);
      return waiter.decide(state, input);
    };
    return [{ logic: { ...waiter, decide }, topics: [topic] }];
  };
  await hosts.next();
  for (const session of [...innocent, guilty]) world.open(session);
  await hosts.run(120_000);
  expect(world.typesOf(guilty)).toContain('timer.fired');
  const [said] = world.eventsOf(guilty, 'decision.failed');
  expect(said?.data).toMatchObject({ service: 'counter', code: 'POISON' });
  // The first took the timer with it: it was answered before it was in the log.
  expect(hosts.died.length).toBeLessThanOrEqual(5);
  for (const session of innocent)
    expect(world.typesOf(session).filter((type) => type === 'task.skipped')).toHaveLength(1);
});

test('hosts that die of something else make no session poison', async () => {
  const { world, hosts } = await succession(() => false, 4);
  for (let n = 0; n < 6; n++) {
    for (const session of innocent) world.send(session, sent());
    await world.clock.run(2);
    hosts.die(hosts.name);
    await hosts.run(15_000);
  }
  expect(innocent.filter((session) => world.countOf(session).answered !== 6)).toEqual([]);
  expect(innocent.flatMap((session) => world.entry(session).core.failed)).toEqual([]);
});

test('a host that takes over from one that ended in good order names nothing', async () => {
  const { world, hosts } = await succession(() => false);
  for (const session of innocent) world.send(session, sent());
  if (hosts.current !== undefined) await world.during(hosts.current.host.stop(5_000));
  await hosts.next();
  await world.clock.run(5_000);
  expect(innocent.filter((session) => world.countOf(session).answered !== 1)).toEqual([]);
  expect(hosts.beats().filter(({ deciding }) => deciding !== undefined)).toEqual([]);
});
