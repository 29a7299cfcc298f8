import { describe, expect, test } from 'vitest';
import { limits } from '../../../../../schemas/limits.ts';
import { watermarksTopic } from '../../../../../schemas/topics.ts';
import type { Watermark } from '../../../../../services/chassis/host/watermarks.ts';
import { createFixedCodec } from '../../../../../services/chassis/log/codec.ts';
import { partitionOf } from '../../../../../services/chassis/log/partition.ts';
import { CounterWorld, partitions, sent, topic } from '../../../../support/counter-world.ts';
import { cancel } from '../../../../support/placed-record.ts';

const session = 'ses_long';

/** Sends, one by one, so that each is answered by a turn of its own. */
async function sendMany(world: CounterWorld, count: number, to = session): Promise<void> {
  for (let i = 0; i < count; i++) {
    world.send(to, sent());
    await world.clock.run(20 + 4 * world.readDelayMs);
  }
}

function marksOf(world: CounterWorld, of = session): Watermark[] {
  const partition = partitionOf(of, partitions);
  return world.cluster.records({ topic: watermarksTopic, partition: 0 }).flatMap(({ value }) => {
    const mark = createFixedCodec().decode(value ?? new Uint8Array()).body as Watermark;
    return mark.service === 'counter' && mark.partition === partition ? [mark] : [];
  });
}

const countOf = (world: CounterWorld, type: string, of = session): number =>
  world.typesOf(of).filter((one) => one === type).length;

describe('a long session', () => {
  test('gets a checkpoint, the mark moves behind it, and a new host goes on from there', async () => {
    const world = await CounterWorld.start();
    const first = await world.startHost('one');
    world.open(session);
    await sendMany(world, 120);
    await world.clock.run(5_000);
    const [checkpoint, ...more] = world.checkpointsOf(session);
    expect(more).toEqual([]);
    expect(checkpoint?.stateHash).toBe(world.stateHash(session, checkpoint?.cursor.offset));
    const mark = marksOf(world).at(-1);
    expect(mark?.offset).toBeGreaterThan(limits.checkpointRecords);
    expect(mark?.offset).toBeLessThanOrEqual(checkpoint?.offset ?? -1);
    first.log.crash();
    const second = await world.startHost('two');
    await sendMany(world, 3);
    expect(countOf(world, 'task.skipped')).toBe(123);
    await world.during(second.host.stop(8_000));
    const last = world.checkpointsOf(session).at(-1);
    expect(last?.offset).toBeGreaterThan(checkpoint?.offset ?? -1);
    expect(last?.stateHash).toBe(world.stateHash(session, last?.cursor.offset));
    const turn = world.records(session).findLast(({ headers }) => headers['lr_kind'] === 'turn');
    const body = createFixedCodec().decode(turn?.value ?? new Uint8Array()).body;
    const ids = world.records(session).map(({ headers }) => headers['ce_id']);
    expect(ids[checkpoint?.offset ?? -1]).toBe((body as { root?: string }).root);
  });

  test('is read from the mark on: what is below may be gone', async () => {
    const world = await CounterWorld.start();
    const first = await world.startHost('one');
    world.open(session);
    await sendMany(world, 120);
    await world.clock.run(5_000);
    first.log.crash();
    const at = { topic, partition: partitionOf(session, partitions) };
    const low = marksOf(world).at(-1)?.offset ?? 0;
    await world.during(world.cluster.connect('janitor').trim(at, low));
    await world.startHost('two');
    await sendMany(world, 2);
    expect(world.typesOf(session).filter((one) => one === 'task.skipped').length).toBe(
      world.typesOf(session).filter((one) => one === 'key.released').length,
    );
    world.send(session, cancel());
    await world.clock.run(1_000);
    expect(world.typesOf(session).at(-1)).toBe('session.closed');
  });
});

test('a graceful stop leaves a checkpoint of every session that moved, and a mark above them', async () => {
  const world = await CounterWorld.start();
  const first = await world.startHost('one', 600_000);
  for (const name of ['ses_a', 'ses_b', 'ses_c']) {
    world.open(name);
    await sendMany(world, 2, name);
  }
  await world.during(first.host.stop(8_000));
  for (const name of ['ses_a', 'ses_b', 'ses_c']) {
    const [checkpoint, ...more] = world.checkpointsOf(name);
    expect(more).toEqual([]);
    expect(checkpoint?.stateHash).toBe(world.stateHash(name));
  }
  await world.startHost('two');
  for (const name of ['ses_a', 'ses_b', 'ses_c']) {
    await sendMany(world, 1, name);
    expect(countOf(world, 'task.skipped', name)).toBe(3);
  }
});

test('what comes between a checkpoint and its place in the log is not forgotten', async () => {
  const world = await CounterWorld.start({
    append: (_at, records) =>
      records.some(({ headers }) => headers['lr_kind'] === 'checkpoint') ? { delayMs: 200 } : 'ok',
  });
  const { host } = await world.startHost('one', 600_000);
  world.open(session);
  await sendMany(world, 2);
  const stopped = host.stop(60_000);
  await world.clock.run(60, () => false);
  world.send(session, sent());
  await world.during(stopped);
  const second = await world.startHost('two', 600_000);
  await world.clock.run(1_000);
  expect(countOf(world, 'task.skipped')).toBe(3);
  await world.during(second.host.stop(8_000));
  expect(world.checkpointsOf(session).at(-1)?.stateHash).toBe(world.stateHash(session));
});

test.each([0, 50])(
  'what comes while a host writes a checkpoint is not forgotten, with reads %i ms behind',
  async (readDelayMs) => {
    const world = await CounterWorld.start({
      append: (_at, records) => {
        if (!records.some(({ headers }) => headers['lr_kind'] === 'checkpoint')) return 'ok';
        for (let i = 0; i < 2; i++) world.clock.after(100, () => world.send(session, sent()));
        return { delayMs: 500 };
      },
    });
    world.readDelayMs = readDelayMs;
    await world.startHost('one', 1_000);
    world.open(session);
    await sendMany(world, 120);
    await world.clock.run(5_000);
    expect(countOf(world, 'checkpoint')).toBe(1);
    expect(countOf(world, 'task.skipped')).toBe(122);
    await sendMany(world, 1);
    await world.clock.run(1_000);
    expect(countOf(world, 'task.skipped')).toBe(123);
  },
);

test('a checkpoint that the broker refuses takes its epoch with it, and decisions go on', async () => {
  let refused = 0;
  const world = await CounterWorld.start({
    append: (_at, records) => {
      const isCheckpoint = records.some(({ headers }) => headers['lr_kind'] === 'checkpoint');
      if (!isCheckpoint || refused > 0) return 'ok';
      refused += 1;
      return 'refused';
    },
  });
  await world.startHost('one', 1_000);
  world.open(session);
  await sendMany(world, 120);
  await world.clock.run(5_000);
  expect(refused).toBe(1);
  await sendMany(world, 3);
  await world.clock.run(10_000);
  expect(countOf(world, 'task.skipped')).toBe(123);
});

describe('a start in the middle of a session', () => {
  /** A host that stopped, whose mark another session holds below the checkpoint of this one. */
  async function stopped(): Promise<CounterWorld> {
    const world = await CounterWorld.start();
    const other = ['ses_a', 'ses_b', 'ses_c', 'ses_d'].find(
      (name) => partitionOf(name, partitions) === partitionOf(session, partitions),
    );
    const first = await world.startHost('one');
    world.open(session);
    await sendMany(world, 120);
    await world.clock.run(3_000);
    world.open(other ?? 'ses_e');
    return Object.assign(world, { first });
  }

  test('takes a cancel that stands there as one of the session that its checkpoint tells', async () => {
    const world = await stopped();
    await sendMany(world, 100);
    const mark = marksOf(world).at(-1)?.offset ?? 0;
    expect(mark).toBeGreaterThan(0);
    world.send(session, cancel());
    await world.clock.run(2_000);
    expect(countOf(world, 'session.closed')).toBe(1);
  });

  test('takes a repeated opening that stands there as the repeat that it is', async () => {
    const world = await stopped();
    await sendMany(world, 10);
    world.open(session);
    await sendMany(world, 110);
    await world.clock.run(3_000);
    expect(world.checkpointsOf(session)).toHaveLength(2);
    const again = await world.startHost('two');
    await world.clock.run(30_000, () => again.host.ready);
    const before = countOf(world, 'task.skipped');
    await sendMany(world, 2);
    expect(countOf(world, 'task.skipped')).toBe(before + 2);
  });
});

test('an idle session does not hold the mark: it is carried forward, once per stretch of the log', async () => {
  const world = await CounterWorld.start();
  const first = await world.startHost('one');
  world.open(session);
  await sendMany(world, 2);
  const at = { topic, partition: partitionOf(session, partitions) };
  const { key = '', headers = {}, value = null } = world.records(session)[0] ?? {};
  const repeat = { key, headers, value };
  const elsewhere = world.cluster.connect('elsewhere');
  for (let sentOnes = 0; sentOnes < limits.carryForwardRecords + 50; sentOnes += 500) {
    await world.during(
      elsewhere.append(
        at,
        Array.from({ length: 500 }, () => repeat),
      ),
    );
  }
  await world.clock.run(20_000);
  expect(world.checkpointsOf(session)).toHaveLength(1);
  expect(marksOf(world).at(-1)?.offset).toBeGreaterThan(limits.carryForwardRecords);
  first.log.crash();
  await world.startHost('two');
  await sendMany(world, 2);
  expect(countOf(world, 'task.skipped')).toBe(4);
});
