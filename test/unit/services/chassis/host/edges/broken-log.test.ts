import { describe, expect, test } from 'vitest';
import {
  partitionsOf,
  presenceTopic,
  topicConfig,
  topics,
} from '../../../../../../schemas/topics.ts';
import type { Host } from '../../../../../../services/chassis/host/host.ts';
import { topicKey } from '../../../../../../services/chassis/host/watermark-records.ts';
import { Watermarks } from '../../../../../../services/chassis/host/watermarks.ts';
import { createFixedCodec } from '../../../../../../services/chassis/log/codec.ts';
import { partitionOf } from '../../../../../../services/chassis/log/partition.ts';
import { ignoredBy } from '../../../../../../services/console/cli/log-state.ts';
import { isBroken, resetEntries } from '../../../../../../services/console/cli/topic-reset.ts';
import { CounterWorld, partitions, sent, topic } from '../../../../../support/counter-world.ts';
import { quietPorts } from '../../../../../support/quiet-ports.ts';

/** DESIGN 3.13: a log that is not what it was stops its partition, says so, and never another one. */

const names = ['ses_a', 'ses_b', 'ses_c', 'ses_d', 'ses_e'];
const in0 = names.find((name) => partitionOf(name, partitions) === 0) ?? '';
const in1 = names.find((name) => partitionOf(name, partitions) === 1) ?? '';
const at0 = { topic, partition: 0 };
const place0 = `${topic}/0`;

/** Both sessions answered once, and marks behind that. */
async function worked() {
  const world = await CounterWorld.start();
  const first = await world.startHost('one');
  for (const name of [in0, in1]) {
    world.open(name);
    world.send(name, sent());
  }
  await world.clock.run(3_000);
  return { world, first };
}

async function watermarksOf(world: CounterWorld): Promise<Watermarks> {
  const watermarks = new Watermarks(quietPorts(world.cluster.connect('person'), world.clock));
  await world.during(watermarks.start());
  await world.during(watermarks.current());
  return watermarks;
}

/** What `longrein topics reset` does. */
async function reset(world: CounterWorld, fromEnd = false): Promise<void> {
  const watermarks = await watermarksOf(world);
  const log = world.cluster.connect('person');
  const id = await world.during(log.topicId(topic));
  const sameTopic = watermarks.topic(topic)?.id === id;
  const nowMs = world.clock.nowMs();
  for (const [partition, bounds] of await world.during(log.bounds(topic))) {
    const name = { topic, partition };
    const isDue = fromEnd ? partition === 0 : isBroken(watermarks, name, bounds);
    if (sameTopic && !isDue) continue;
    const entries = resetEntries(watermarks, name, { bounds, sameTopic, fromEnd, nowMs });
    await world.during(watermarks.put(entries));
  }
  const deed = { by: 'ann', reason: 'lost', atMs: nowMs };
  const value = { topic, id, atMs: nowMs, reset: deed };
  await world.during(watermarks.put([{ key: topicKey(topic), value }]));
}

async function makeTopic(world: CounterWorld): Promise<void> {
  const specs = topics
    .filter(({ name }) => name === topic)
    .map((one) => ({
      name: one.name,
      partitions: partitionsOf(one, partitions),
      config: topicConfig(one, 1_048_576),
    }));
  await world.during(world.cluster.connect('admin').ensureTopics(specs));
}

/** Bytes of another program at the end of a partition. */
function foreign(world: CounterWorld, count: number): void {
  const record = { key: 'other', headers: {}, value: Buffer.from('hello') };
  world.cluster.write(
    at0,
    Array.from({ length: count }, () => record),
  );
}

async function answers(world: CounterWorld, session: string): Promise<boolean> {
  const before = world.typesOf(session).filter((type) => type === 'task.skipped').length;
  world.send(session, sent());
  await world.clock.run(1_000);
  return world.typesOf(session).filter((type) => type === 'task.skipped').length > before;
}

const haltOf = (host: Host, where = place0) => host.status().halted[where];

describe('a log that was truncated below the watermark', () => {
  async function truncated() {
    const { world, first } = await worked();
    await world.during(first.host.stop(8_000));
    foreign(world, 20);
    const { high } = world.cluster.topics.partition(at0)?.bounds ?? { high: 0 };
    await world.during(world.cluster.connect('admin').trim(at0, high));
    const second = await world.startHost('two');
    return { world, second };
  }

  test('stops its partition, names the command, and the other partition goes on', async () => {
    const { world, second } = await truncated();
    expect(second.host.ready).toBe(true);
    expect(haltOf(second.host)).toMatchObject({
      code: 'LOG_TRUNCATED',
      message: expect.stringContaining('were deleted by somebody else') as string,
      fix: expect.stringContaining(`longrein topics reset ${topic} --partition 0`) as string,
    });
    expect(await answers(world, in1)).toBe(true);
    expect(await answers(world, in0)).toBe(false);
    await world.clock.run(2_000);
    const beat = world.cluster.records({ topic: presenceTopic, partition: 0 }).at(-1);
    const said = createFixedCodec().decode(beat?.value ?? new Uint8Array()).body;
    expect(said).toMatchObject({ host: 'two', halted: { [place0]: { code: 'LOG_TRUNCATED' } } });
  });

  test('stays stopped, is said once, and is worked on after a person gave up what is lost', async () => {
    const { world, second } = await truncated();
    const since = haltOf(second.host)?.sinceMs;
    await world.clock.run(300_000);
    expect(haltOf(second.host)?.sinceMs).toBe(since);
    const said = second.logger.lines.filter(({ message }) => message === 'partition stopped');
    expect(said).toHaveLength(1);
    await reset(world);
    await world.clock.run(70_000);
    expect(second.host.status().halted).toEqual({});
    const anew = Array.from({ length: 50 }, (_, n) => `ses_new_${n}`).find(
      (name) => partitionOf(name, partitions) === 0,
    ) as string;
    world.open(anew);
    expect(await answers(world, anew)).toBe(true);
  });
});

describe('a topic that was deleted and made again', () => {
  async function recreated(records: number) {
    const { world, first } = await worked();
    await world.during(first.host.stop(8_000));
    world.cluster.topics.delete(topic);
    await makeTopic(world);
    foreign(world, records);
    return { world, second: await world.startHost('two') };
  }

  test.each([
    [0, 'ends below the watermark'],
    [500, 'has the watermark within its bounds'],
  ])('with %i records (it %s) is known by its identity, and nothing is read', async (records) => {
    const { second } = await recreated(records);
    for (const where of [place0, `${topic}/1`]) {
      expect(haltOf(second.host, where)).toMatchObject({
        code: 'TOPIC_RECREATED',
        fix: expect.stringContaining(`longrein topics reset ${topic} --reason`) as string,
      });
    }
  });

  test('is read from its beginning when a person says so; numbers of epochs go on', async () => {
    const { world, second } = await recreated(3);
    await reset(world);
    await world.clock.run(70_000);
    expect(second.host.status().halted).toEqual({});
    world.open(in0);
    expect(await answers(world, in0)).toBe(true);
    const epochs = world
      .records(in0)
      .filter(({ headers }) => headers['lr_kind'] === 'epoch')
      .map(({ headers }) => Number(headers['lr_epoch']));
    expect(Math.min(...epochs)).toBeGreaterThan(1_000);
    const mark = (await watermarksOf(world)).of('counter', at0);
    expect(mark?.offset).toBeLessThanOrEqual(world.records(in0).length);
  });

  test('while a host runs is noticed too', async () => {
    const { world, first } = await worked();
    world.cluster.topics.delete(topic);
    await makeTopic(world);
    foreign(world, 100);
    await world.clock.run(30_000);
    expect(haltOf(first.host)).toMatchObject({ code: 'TOPIC_RECREATED' });
    expect(first.host.status().partitions.flatMap(({ owned }) => owned)).toEqual([]);
  });

  test('or was deleted only: that is said, and who made it again says go', async () => {
    const { world, first } = await worked();
    world.cluster.topics.delete(topic);
    await world.clock.run(30_000);
    expect(haltOf(first.host)).toMatchObject({
      code: 'TOPIC_UNKNOWN',
      fix: expect.stringContaining('longrein topics reset') as string,
    });
    await makeTopic(world);
    await world.clock.run(70_000);
    expect(haltOf(first.host)).toMatchObject({ code: 'TOPIC_RECREATED' });
    await reset(world);
    await world.clock.run(70_000);
    expect(first.host.status().halted).toEqual({});
    world.open(in1);
    expect(await answers(world, in1)).toBe(true);
  });
});

test('a log that lost its end stops its partition', async () => {
  const { world, first } = await worked();
  await world.during(first.host.stop(8_000));
  const watermarks = await watermarksOf(world);
  const mark = watermarks.of('counter', at0);
  if (mark === undefined) throw new Error('no mark');
  const far = { ...mark, offset: mark.offset + 1_000 };
  await world.during(watermarks.write([far], []));
  const second = await world.startHost('two');
  expect(haltOf(second.host)).toMatchObject({ code: 'LOG_SHORTER' });
  expect(await answers(world, in1)).toBe(true);
});

test('a position that is deleted under a running host is found again by itself', async () => {
  const { world, first } = await worked();
  const partition = world.cluster.topics.partition(at0);
  // As a broker would say after an unclean change of its leader: what was read is gone.
  const high = partition?.bounds.high ?? 0;
  foreign(world, 5);
  await world.during(world.cluster.connect('admin').trim(at0, high));
  await world.clock.run(60_000);
  expect(first.host.status().halted).toEqual({});
  expect(await answers(world, in0)).toBe(true);
});

test('a record that stops every reader is passed when a person gives up the partition from its end', async () => {
  const { world, first } = await worked();
  const headers = { lr_kind: 'ledger', ce_type: 'longrein.ledger.v1', ce_id: 'led_1' };
  world.cluster.write(at0, [{ key: in0, headers, value: Buffer.from('{}') }]);
  await world.clock.run(3_000);
  expect(haltOf(first.host)).toMatchObject({ code: 'NEWER_RELEASE' });
  // Its watermarks are within the log: nothing else mends it.
  await reset(world);
  await world.clock.run(70_000);
  expect(haltOf(first.host)).toMatchObject({ code: 'NEWER_RELEASE' });
  await reset(world, true);
  await world.clock.run(70_000);
  expect(first.host.status().halted).toEqual({});
  const anew = Array.from({ length: 50 }, (_, n) => `ses_new_${n}`).find(
    (name) => partitionOf(name, partitions) === 0,
  ) as string;
  world.open(anew);
  expect(await answers(world, anew)).toBe(true);
});

describe('records that are not ours', () => {
  test.each([
    ['of another program', {}, Buffer.from('hello')],
    ['of 10 MB', {}, Buffer.alloc(10_000_000, 1)],
    ['that start with an unknown byte', { lr_kind: 'input', ce_subject: in0 }, Buffer.from([7, 1])],
    ['without a value', { lr_kind: 'turn', ce_subject: in0 }, null],
  ])('%s are passed over and counted, and the partition goes on', async (_what, headers, value) => {
    const { world, first } = await worked();
    world.cluster.write(at0, [{ key: in0, headers, value }]);
    expect(await answers(world, in0)).toBe(true);
    expect(first.host.status().halted).toEqual({});
    await world.clock.run(5_000);
    expect(ignoredBy(first.host.alive())).toMatchObject([
      { where: `${at0.topic}/${at0.partition}`, code: 'RECORDS_IGNORED', stops: false },
    ]);
  });
});
