import { describe, expect, test } from 'vitest';
import { limits } from '../../../../../schemas/limits.ts';
import { presenceTopic } from '../../../../../schemas/topics.ts';
import { type Heartbeat, Presence } from '../../../../../services/chassis/host/presence.ts';
import { createFixedCodec } from '../../../../../services/chassis/log/codec.ts';
import { keepingLogger, quietPorts } from '../../../../support/quiet-ports.ts';
import { ScriptedLog, settled } from '../../../../support/scripted-log.ts';
import { VirtualClock } from '../../../../support/virtual-clock.ts';

const at = { topic: presenceTopic, partition: 0 };
const codec = createFixedCodec();
const beatMs = limits.presenceMs / 5;

const beat = (incarnation: string, atMs = 0): Heartbeat => ({
  incarnation,
  host: incarnation,
  services: ['planner'],
  partitions: {},
  release: '0.0.0-test',
  atMs,
});

async function bench() {
  const log = new ScriptedLog();
  const clock = new VirtualClock();
  let changes = 0;
  const logger = keepingLogger();
  const presence = new Presence(quietPorts(log, clock, { logger }), {
    incarnation: 'mine',
    describe: () => beat('mine', clock.nowMs()),
    onChange: () => {
      changes += 1;
    },
  });
  await presence.start();
  const hear = (...incarnations: string[]): void => {
    const values = incarnations.map((one) => codec.encode('presence', beat(one, clock.nowMs())));
    log.deliver(
      at,
      values.map((value) => ({ value })),
    );
  };
  /** Time passes, in which these are heard. */
  const pass = async (ms: number, ...incarnations: string[]): Promise<void> => {
    for (let passed = 0; passed < ms; passed += beatMs) {
      await clock.run(beatMs);
      if (incarnations.length > 0) hear(...incarnations);
    }
  };
  return { log, clock, logger, presence, hear, pass, changes: () => changes };
}

describe('an instance', () => {
  test('is gone when it was not heard for so long, and not before', async () => {
    const { presence, hear, pass } = await bench();
    hear('mine', 'other');
    await pass(limits.presenceMs, 'mine');
    expect(presence.isGone('other')).toBe(false);
    await pass(beatMs, 'mine');
    expect(presence.isGone('other')).toBe(true);
    hear('other');
    expect(presence.isGone('other')).toBe(false);
  });

  test('that was never heard is gone after the same time of hearing', async () => {
    const { presence, hear, pass } = await bench();
    hear('mine');
    expect(presence.isGone('nobody')).toBe(false);
    await pass(limits.presenceMs + beatMs, 'mine');
    expect(presence.isGone('nobody')).toBe(true);
  });

  test('is never gone to itself', async () => {
    const { presence, pass } = await bench();
    await pass(10 * limits.presenceMs);
    expect(presence.isGone('mine')).toBe(false);
  });
});

describe('who does not hear itself knows nothing', () => {
  test('from the start: nobody is gone', async () => {
    const { presence, pass } = await bench();
    await pass(10 * limits.presenceMs);
    expect(presence.isGone('other')).toBe(false);
  });

  test('after it fell silent: nobody is gone', async () => {
    const { presence, hear, pass } = await bench();
    hear('mine', 'other');
    await pass(10 * limits.presenceMs);
    expect(presence.isGone('other')).toBe(false);
  });

  test('and time without hearing does not count, so that who is heard second is not gone', async () => {
    const { presence, hear, pass } = await bench();
    hear('mine', 'other');
    await pass(10 * limits.presenceMs);
    hear('mine');
    expect(presence.isGone('other')).toBe(false);
    await pass(limits.presenceMs, 'mine');
    expect(presence.isGone('other')).toBe(false);
    await pass(beatMs, 'mine');
    expect(presence.isGone('other')).toBe(true);
  });
});

describe('an epoch', () => {
  const owned = { incarnation: 'other', partition: 'longrein.sessions.normal/3', epoch: 7 };
  const planner = { ...owned, service: 'planner' };
  const lists = (epoch: number) => ({
    ...beat('other'),
    partitions: { [owned.partition]: { planner: epoch } },
  });
  const say = (log: ScriptedLog, said: Heartbeat): void =>
    log.deliver(at, [{ value: codec.encode('presence', said) }]);

  test('is unlisted since it was looked for, as long as its owner does not name it', async () => {
    const { log, presence, hear, pass } = await bench();
    hear('mine');
    await pass(10_000, 'mine');
    const sinceMs = presence.markMs();
    for (let passed = 0; passed < 3; passed++) {
      await pass(beatMs, 'mine', 'other');
      say(log, lists(6));
    }
    expect(presence.unlistedMs(planner, sinceMs)).toBe(3 * beatMs);
    say(log, lists(7));
    expect(presence.unlistedMs(planner, sinceMs)).toBe(0);
    expect(presence.unlistedMs({ ...planner, service: 'supervisor' }, sinceMs)).toBe(3 * beatMs);
    await pass(2 * beatMs, 'mine', 'other');
    expect(presence.unlistedMs(planner, sinceMs)).toBe(2 * beatMs);
  });

  test('that was listed before it was looked for is not taken for listed', async () => {
    const { log, presence, hear, pass } = await bench();
    hear('mine');
    say(log, lists(7));
    await pass(4 * beatMs, 'mine');
    const sinceMs = presence.markMs();
    expect(presence.unlistedMs(planner, sinceMs)).toBe(0);
    await pass(2 * beatMs, 'mine');
    expect(presence.unlistedMs(planner, sinceMs)).toBe(2 * beatMs);
  });

  test('does not get older while nothing is heard', async () => {
    const { presence, hear, pass } = await bench();
    hear('mine');
    await pass(2 * beatMs, 'mine');
    const sinceMs = presence.markMs();
    await pass(10 * limits.presenceMs);
    hear('mine');
    expect(presence.unlistedMs(planner, sinceMs)).toBe(0);
  });

  test('of an instance that ended is nobody’s at once', async () => {
    const { log, presence, hear } = await bench();
    hear('mine');
    say(log, { ...lists(7), ended: true });
    expect(presence.unlistedMs(planner, presence.markMs())).toBe(Number.POSITIVE_INFINITY);
  });
});

test('a heartbeat that the broker refuses is an alarm, once', async () => {
  const { log, clock, logger } = await bench();
  for (let n = 0; n < 3; n++) {
    log.appends.at(-1)?.fail('refused');
    await settled();
    await clock.run(beatMs);
  }
  const alarms = logger.lines.filter(({ level }) => level === 'error');
  expect(alarms.map(({ message }) => message)).toEqual(['heartbeat refused: others take over']);
});

test('the living are those whose heartbeats are not too old, with what they said last', async () => {
  const { presence, hear, pass, clock } = await bench();
  hear('mine', 'other');
  await pass(limits.presenceMs + beatMs, 'mine');
  expect(presence.alive()).toEqual([beat('mine', clock.nowMs())]);
});

test('heartbeats of the long gone are forgotten', async () => {
  const { presence, hear, pass } = await bench();
  hear('mine', 'other');
  await pass(limits.presenceMs * 100 + beatMs, 'mine');
  expect(presence.alive().map((one) => one.incarnation)).toEqual(['mine']);
  expect(presence.isGone('other')).toBe(true);
});

test('what is known of others is looked at when it hears itself, and not twice in a beat', async () => {
  const { clock, hear, changes } = await bench();
  await clock.run(beatMs * 0.7);
  hear('mine');
  hear('other');
  await clock.run(1);
  hear('mine');
  await clock.run(1);
  const before = changes();
  await clock.run(beatMs * 0.3);
  expect(changes()).toBe(before);
  hear('mine');
  await clock.run(beatMs * 0.5);
  hear('mine');
  expect(changes()).toBe(before);
  await clock.run(1);
  expect(changes()).toBe(before + 1);
});

test('it says of itself what it is, again and again, until it is stopped', async () => {
  const { log, clock, presence, changes } = await bench();
  await clock.run(3 * beatMs);
  expect(log.appends).toHaveLength(4);
  expect(changes()).toBe(4);
  const [record] = log.appends[3]?.records ?? [];
  expect(record?.key).toBe('mine');
  expect(codec.decode(record?.value ?? new Uint8Array()).body).toEqual({
    ...beat('mine', clock.nowMs()),
    count: 4,
  });
  log.appends[0]?.fail('uncertain');
  await settled();
  const stopped = presence.stop();
  log.appends.at(-1)?.acknowledge(0);
  await stopped;
  await clock.run(3 * beatMs);
  expect(log.appends).toHaveLength(5);
  const [last] = log.appends[4]?.records ?? [];
  const said = codec.decode(last?.value ?? new Uint8Array()).body;
  expect(said).toMatchObject({ incarnation: 'mine', partitions: {}, ended: true });
});

test('who says that it ended is gone at once', async () => {
  const { log, presence, hear } = await bench();
  hear('mine', 'other');
  log.deliver(at, [{ value: codec.encode('presence', { ...beat('other'), ended: true }) }]);
  expect(presence.isGone('other')).toBe(true);
  expect(presence.alive().map((one) => one.incarnation)).toEqual(['mine']);
});

test('records that are no heartbeats are passed over', async () => {
  const { log, presence, hear, pass } = await bench();
  hear('mine', 'other');
  log.deliver(at, [{ value: Buffer.from('{"incarnation":"other"}') }, { value: null }]);
  await pass(limits.presenceMs + beatMs, 'mine');
  expect(presence.isGone('other')).toBe(true);
});
