import { expect, test } from 'vitest';
import { topicConfig, topics } from '../../../../schemas/topics.ts';
import { topicKey } from '../../../../services/chassis/host/watermark-records.ts';
import { Watermarks } from '../../../../services/chassis/host/watermarks.ts';
import { createFixedCodec } from '../../../../services/chassis/log/codec.ts';
import { resetEntries } from '../../../../services/console/cli/topic-reset.ts';
import { storedBounds } from '../../../../services/event-store/backfill/stored-bounds.ts';
import { EventStoreWorld, partitions, sessionsTopic } from '../../../support/event-store-world.ts';
import { keepingLogger } from '../../../support/quiet-ports.ts';

/** A topic of sessions is deleted and made again; a person gives up what was in it, as `topics reset` does. */

async function makeAgain(world: EventStoreWorld): Promise<void> {
  world.cluster.topics.delete(sessionsTopic);
  await world.clock.run(12_000);
  const definition = topics.find(({ name }) => name === sessionsTopic);
  if (definition === undefined) throw new Error('no such topic');
  const spec = { name: sessionsTopic, partitions, config: topicConfig(definition, 1_048_576) };
  await world.settled(world.cluster.connect('admin').ensureTopics([spec]));
}

async function reset(world: EventStoreWorld): Promise<void> {
  const log = world.cluster.connect('person');
  const parts = { log, codec: createFixedCodec(), logger: keepingLogger() };
  const watermarks = new Watermarks(parts);
  await world.settled(watermarks.start());
  await world.settled(watermarks.current());
  const nowMs = world.clock.nowMs();
  const id = (await world.settled(log.topicId(sessionsTopic))) ?? '';
  const entries = [...(await world.settled(log.bounds(sessionsTopic)))].flatMap(
    ([partition, bounds]) =>
      resetEntries(
        watermarks,
        { topic: sessionsTopic, partition },
        { bounds, sameTopic: false, nowMs },
      ),
  );
  const deed = { by: 'ann', reason: 'lost', atMs: nowMs };
  const value = { topic: sessionsTopic, id, atMs: nowMs, reset: deed, made: 2 };
  await world.settled(watermarks.put([...entries, { key: topicKey(sessionsTopic), value }]));
  await world.settled(watermarks.stop());
}

const again = `${sessionsTopic}#2`;
const placesOf = (world: EventStoreWorld, topic: string): readonly string[] =>
  world.table.rows
    .filter((row) => row.topic === topic && row.index === 0)
    .map(({ partition, offset }) => `${partition}@${offset}`)
    .sort();
const inLog = (world: EventStoreWorld): readonly string[] =>
  Array.from({ length: partitions }, (_, partition) =>
    world.cluster.records({ topic: sessionsTopic, partition }),
  )
    .flat()
    .map(({ partition, offset }) => `${partition}@${offset}`)
    .sort();

test.each([
  ['fewer', 1],
  ['more', 30],
])(
  'the store stops at a topic that was made again and has %s records, and follows it after the reset',
  async (_name, goals) => {
    const world = await EventStoreWorld.create();
    await world.start('runner', 'runner');
    const { store } = await world.start('one', 'event-store');
    for (let goal = 0; goal < 5; goal += 1) world.open(`before-${goal}`);
    await world.clock.run(2_000);
    await world.storeAll();
    const before = placesOf(world, sessionsTopic);
    expect(before).toEqual(inLog(world));

    await makeAgain(world);
    for (let goal = 0; goal < goals; goal += 1) world.open(`between-${goal}`);
    world.publishGoal('meanwhile');
    await world.clock.run(90_000);
    const [problem] = store?.health().reasons ?? [];
    expect(problem).toMatch(/was deleted and made again/);
    // Nothing of the new topic was taken for the old one, and other topics go on.
    expect(placesOf(world, sessionsTopic)).toEqual(before);
    expect(placesOf(world, again)).toEqual([]);
    expect(world.table.rows.some(({ topic }) => topic === 'longrein.goals')).toBe(true);

    await reset(world);
    await world.clock.run(90_000);
    for (let goal = 0; goal < 5; goal += 1) world.open(`after-${goal}`);
    await world.clock.run(90_000);
    expect(store?.health()).toEqual({ reasons: [], notes: [] });
    expect(placesOf(world, sessionsTopic)).toEqual(before);
    expect(placesOf(world, again)).toEqual(inLog(world));
    const closed = world.table.rows.filter((row) => row.type === 'session.closed' && row.effective);
    expect(closed.filter(({ topic }) => topic === again).length).toBeGreaterThanOrEqual(5);
    // A backfill tells the two apart as well.
    const stored = await world.settled(storedBounds(world.cluster.connect('backfill')));
    for (let partition = 0; partition < partitions; partition += 1) {
      const { length } = world.cluster.records({ topic: sessionsTopic, partition });
      expect(stored.get(`${again}/${partition}`)).toBe(length);
    }
  },
);

test('what was fixed and no living store has read when its topic was given up is told with its place', async () => {
  const world = await EventStoreWorld.create();
  const first = await world.start('one', 'event-store');
  world.table.behaviour = () => 'away';
  world.open('lost');
  await world.clock.run(5_000);
  first.log.crash();
  await makeAgain(world);
  const { store, lines } = await world.start('two', 'event-store');
  await world.clock.run(40_000);
  await reset(world);
  await world.clock.run(60_000);
  world.table.behaviour = () => 'store';
  world.open('after');
  await world.clock.run(60_000);
  expect(store?.health().reasons).toEqual([]);
  expect(placesOf(world, again)).toEqual(inLog(world));
  expect(placesOf(world, sessionsTopic)).toEqual([]);
  const codeOf = (fields: object): string | undefined => (fields as { code?: string }).code;
  const given = lines.filter(({ fields }) => codeOf(fields) === 'RECORDS_GIVEN_UP');
  expect(given.length).toBeGreaterThan(0);
  expect(given[0]?.fields).toMatchObject({ topic: sessionsTopic, from: 0 });
});
