// Hard edge 1b.7.
import { describe, expect, test } from 'vitest';
import {
  serviceKey,
  type Watermark,
} from '../../../../../../services/chassis/host/watermark-records.ts';
import { partitionOf } from '../../../../../../services/chassis/log/partition.ts';
import type {
  LogPort,
  Reader,
  ReaderHandlers,
} from '../../../../../../services/chassis/log/port.ts';
import { CounterWorld, partitions, sent, topic } from '../../../../../support/counter-world.ts';
import { startJanitor } from '../../../../../support/memory-janitor.ts';

/** DESIGN 3.11, hard edges: what is deleted, and who starts where afterwards. */

const session = 'ses_long';
const at = { topic, partition: partitionOf(session, partitions) };

async function sendMany(world: CounterWorld, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    world.send(session, sent());
    await world.clock.run(20);
  }
}

const lowOf = (world: CounterWorld): number => world.cluster.topics.partition(at)?.bounds.low ?? -1;

/** Effective answers, also where records are gone: the state counts them. */
function answeredIn(world: CounterWorld): number {
  const checkpoint = world.checkpointsOf(session).at(-1);
  const state = checkpoint?.state.body as { state: { answered: number } } | undefined;
  const later = world
    .records(session)
    .filter(({ offset }) => offset > (checkpoint?.cursor.offset ?? -1))
    .flatMap(({ headers }) => (headers['lr_types'] ?? '').split(','));
  return (state?.state.answered ?? 0) + later.filter((type) => type === 'task.skipped').length;
}

/** A session with a checkpoint, whose log was trimmed below the mark. */
async function trimmed() {
  const world = await CounterWorld.start();
  const first = await world.startHost('one');
  world.open(session);
  await sendMany(world, 120);
  await world.clock.run(5_000);
  const janitor = await startJanitor(world);
  await janitor.run();
  return { world, first, janitor };
}

/** A host of another group, which is given no records of sessions until it is told to hear. */
function deafInAGroupOfItsOwn() {
  const waiting: (() => void)[] = [];
  const reader = async (log: LogPort, handlers: ReaderHandlers): Promise<Reader> => {
    const inner = await log.reader(handlers);
    const assign: Reader['assign'] = (name, fromOffset) => {
      inner.assign(name, fromOffset);
      if (name.topic !== topic || waiting.length > partitions) return;
      inner.pause(name);
      waiting.push(() => inner.resume(name));
    };
    return { ...bound(inner), assign };
  };
  const change = (log: LogPort): LogPort => ({
    ...bound(log),
    join: (group, names, handlers) => log.join(`${group}.other`, names, handlers),
    reader: (handlers) => reader(log, handlers),
  });
  const hear = (): void => {
    for (const resume of waiting) resume();
    waiting.length = partitions + 1;
  };
  return { change, hear };
}

/** The methods of an object as members, so that some can be replaced. */
function bound<T extends object>(one: T): T {
  const names = Object.getOwnPropertyNames(Object.getPrototypeOf(one));
  const methods = names.flatMap((name) => {
    const value: unknown = Reflect.get(one, name);
    return typeof value === 'function' ? [[name, value.bind(one)] as const] : [];
  });
  return { ...Object.fromEntries(methods), ...one } as T;
}

describe('a janitor', () => {
  test('deletes below the mark, and nothing else; a host that starts afterwards goes on', async () => {
    const { world, first, janitor } = await trimmed();
    const mark = janitor.watermarks.of('counter', at);
    expect(lowOf(world)).toBeGreaterThan(200);
    expect(lowOf(world)).toBe(mark?.offset);
    expect(janitor.watermarks.trimAt(at)).toMatchObject({ offset: mark?.offset });
    expect(janitor.watermarks.trimAt(at)?.acceptance).toEqual(mark?.acceptance);
    first.log.crash();
    await world.startHost('two');
    await sendMany(world, 3);
    expect(answeredIn(world)).toBe(123);
  });

  test('writes the trim, and has it acknowledged, before it deletes: not at all without', async () => {
    const refusing = { on: true };
    const world = await CounterWorld.start({
      append: (_at, records) => {
        const trims = records.some(({ key }) => key.startsWith('trim/'));
        return trims && refusing.on ? 'lost' : 'ok';
      },
    });
    await world.startHost('one');
    world.open(session);
    await sendMany(world, 120);
    await world.clock.run(5_000);
    const janitor = await startJanitor(world);
    await janitor.run();
    expect(lowOf(world)).toBe(0);
    expect(janitor.logger.lines.map(({ message }) => message)).toContain(
      'nothing is deleted here for now',
    );
    refusing.on = false;
    await janitor.run();
    expect(lowOf(world)).toBeGreaterThan(200);
  });

  test('carries out what one before it has written and not done', async () => {
    const { world, janitor } = await trimmed();
    const trim = janitor.watermarks.trimAt(at);
    await sendMany(world, 120);
    await world.clock.run(5_000);
    await world.during(
      janitor.watermarks.put([
        {
          key: `trim/${topic}/${at.partition}/${(trim?.offset ?? 0) + 3}`,
          value: { ...trim, offset: (trim?.offset ?? 0) + 3 },
        },
      ]),
    );
    const other = await startJanitor(world, 'other', 3_600_000);
    await other.run();
    expect(lowOf(world)).toBe((trim?.offset ?? 0) + 3);
  });

  test('keeps what is younger than the retention time', async () => {
    const world = await CounterWorld.start();
    await world.startHost('one');
    world.open(session);
    await sendMany(world, 120);
    await world.clock.run(5_000);
    const janitor = await startJanitor(world, 'janitor', 3_600_000);
    await janitor.run();
    expect(lowOf(world)).toBe(0);
    const place = janitor.watermarks.placesAt(at).at(-1);
    expect(place?.offset).toBeGreaterThan(200);
    await world.clock.run(3_600_000);
    await janitor.run();
    expect(lowOf(world)).toBe(place?.offset);
    await world.during(janitor.watermarks.current());
    expect(janitor.watermarks.trimAt(at)?.acceptance).toEqual(place?.acceptance);
  });

  test('beside another one is harmless, also where that one has read nothing for long', async () => {
    const { world, first, janitor } = await trimmed();
    const trim = janitor.watermarks.trimAt(at);
    const late = { ...trim, offset: 5, acceptance: {} };
    await world.during(
      janitor.watermarks.put([{ key: `trim/${topic}/${at.partition}/5`, value: late }]),
    );
    expect(janitor.watermarks.trimAt(at)).toEqual(trim);
    first.log.crash();
    const second = await world.startHost('two');
    await sendMany(world, 2);
    expect(second.host.status().halted).toEqual({});
    expect(answeredIn(world)).toBe(122);
    const two = await startJanitor(world, 'janitor-2');
    await world.during(Promise.all([janitor.janitor.run(), two.janitor.run()]));
    expect(janitor.watermarks.trimsAt(at).map(({ offset }) => offset)).toEqual([trim?.offset]);
  });
});

test('a stale watermark after a trim: the host starts at the trim, with the state of that place', async () => {
  const { world, first, janitor } = await trimmed();
  first.log.crash();
  // What a process that lives on, and knows no better, may write at any time.
  const stale: Watermark = { service: 'counter', ...at, offset: 0, acceptance: {} };
  await world.during(janitor.watermarks.write([stale], []));
  const second = await world.startHost('two');
  await sendMany(world, 3);
  expect(second.host.status().halted).toEqual({});
  expect(answeredIn(world)).toBe(123);
  const low = lowOf(world);
  await world.clock.run(5_000);
  await janitor.run();
  expect(janitor.watermarks.of('counter', at)?.offset).toBeGreaterThanOrEqual(low);
});

test('a service that is never to run again holds everything until a person retires it, and may not start then', async () => {
  const { world, janitor } = await trimmed();
  const low = lowOf(world);
  const gone = { service: 'old-pool', topics: [topic], release: '0', atMs: world.clock.nowMs() };
  await world.during(janitor.watermarks.put([{ key: serviceKey('old-pool'), value: gone }]));
  await sendMany(world, 120);
  await world.clock.run(5_000);
  await janitor.run();
  expect(lowOf(world)).toBe(low);
  const retired = { ...gone, retired: { by: 'ann', reason: 'no pool any more', atMs: 1 } };
  await world.during(janitor.watermarks.put([{ key: serviceKey('old-pool'), value: retired }]));
  await janitor.run();
  expect(lowOf(world)).toBeGreaterThan(low);
  const counter = janitor.watermarks.service('counter');
  const deed = { by: 'ben', reason: 'by mistake', atMs: 5 };
  await world.during(
    janitor.watermarks.put([{ key: serviceKey('counter'), value: { ...counter, retired: deed } }]),
  );
  await expect(world.startHost('three')).rejects.toMatchObject({
    code: 'SERVICE_RETIRED',
    message: expect.stringContaining('ben') as string,
    fix: expect.stringContaining('longrein services reinstate counter') as string,
  });
});

test('a janitor beside a slow reader: who stands by below the trim is told, and reads again from the trim', async () => {
  const world = await CounterWorld.start();
  await world.startHost('one');
  world.open(session);
  await sendMany(world, 60);
  // Another group that runs the same service stands by, and what it reads comes late.
  const deaf = deafInAGroupOfItsOwn();
  const slow = await world.startHost('slow', 1_000, deaf.change);
  await sendMany(world, 120);
  await world.clock.run(5_000);
  const janitor = await startJanitor(world);
  await janitor.run();
  expect(lowOf(world)).toBeGreaterThan(200);
  deaf.hear();
  await world.clock.run(1_000);
  const stopped = slow.logger.lines.filter(({ message }) => message === 'partition stopped');
  expect(stopped.map(({ fields }) => fields)).toContainEqual(
    expect.objectContaining({ ...at, code: 'OFFSET_OUT_OF_RANGE' }),
  );
  await world.clock.run(20_000);
  expect(slow.host.status().halted).toEqual({});
  await sendMany(world, 3);
  expect(answeredIn(world)).toBe(183);
});
