import { expect, test } from 'vitest';
import { LongreinError } from '../../../../services/chassis/errors.ts';
import { EventStoreWorld, sessionsTopic } from '../../../support/event-store-world.ts';

/** Every record once, and the same token never with other rows. */
function expectExact(world: EventStoreWorld): void {
  expect([...world.storedRecords].sort()).toEqual([...world.records].sort());
  for (const { token, rows } of world.table.attempts) {
    const stored = world.table.stored.get(token);
    if (stored !== undefined) expect(rows).toEqual(stored);
  }
}

test('every record of every stored topic becomes rows, within a second of the last one', async () => {
  const world = await EventStoreWorld.create();
  await world.start('runner', 'runner');
  const { store, lines } = await world.start('one', 'event-store');
  for (let goal = 0; goal < 20; goal += 1) {
    world.publishGoal(`g${goal}`);
    world.open(`g${goal}`);
  }
  world.append(sessionsTopic, { key: 'other', headers: { app: 'x' }, value: Buffer.from('hello') });
  await world.clock.run(1_000);
  await world.clock.run(1_000, () => world.allStored);
  expectExact(world);
  const closed = world.table.rows.filter(({ type }) => type === 'session.closed');
  expect(closed).toHaveLength(20);
  expect(closed.every(({ effective, tenantId }) => effective && tenantId === 'acme')).toBe(true);
  expect(store?.lag().every(({ rows }) => rows === 0)).toBe(true);
  expect(lines.filter(({ level }) => level === 'error' || level === 'warn')).toEqual([]);
});

test('a crash between fixing and inserting: the successor inserts the same range', async () => {
  const world = await EventStoreWorld.create();
  const first = await world.start('one', 'event-store');
  world.table.behaviour = ({ from }) => (from === 'one' ? 'hang' : 'store');
  for (let goal = 0; goal < 5; goal += 1) world.publishGoal(`g${goal}`);
  await world.clock.run(5_000, () => world.table.attempts.length >= 2);
  first.log.crash();
  world.publishGoal('later');
  await world.start('two', 'event-store');
  await world.storeAll();
  expectExact(world);
  const again = world.fixedRanges.filter(({ attempt }) => attempt === 2);
  expect(again.length).toBeGreaterThan(0);
  for (const { call, from, to } of again) {
    const before = world.fixedRanges.find((one) => one.call === call && one.attempt === 1);
    expect(before).toMatchObject({ from, to });
  }
});

test('a crash after inserting, before the outcome is written: nothing is stored twice', async () => {
  const world = await EventStoreWorld.create();
  const first = await world.start('one', 'event-store');
  world.table.behaviour = ({ from }) => (from === 'one' ? 'store-and-hang' : 'store');
  for (let goal = 0; goal < 5; goal += 1) world.publishGoal(`g${goal}`);
  await world.clock.run(5_000, () => world.table.stored.size >= 2);
  first.log.crash();
  await world.start('two', 'event-store');
  world.publishGoal('later');
  await world.storeAll();
  expectExact(world);
  const tokens = world.table.attempts.map(({ token }) => token);
  expect(tokens.length).toBeGreaterThan(new Set(tokens).size);
});

test('an outcome whose acknowledgement is lost is written once', async () => {
  let lost = 0;
  const world = await EventStoreWorld.create({
    append: (_at, records) => {
      const stored = records.some(({ headers }) => headers.lr_types === 'range.stored');
      if (!stored || lost >= 3) return 'ok';
      lost += 1;
      return 'lost-ack';
    },
  });
  await world.start('one', 'event-store');
  for (let goal = 0; goal < 5; goal += 1) world.publishGoal(`g${goal}`);
  await world.storeAll();
  world.publishGoal('later');
  await world.storeAll();
  expect(lost).toBe(3);
  expectExact(world);
});

test('two event stores that are assigned anew all the time store every record once', async () => {
  const world = await EventStoreWorld.create();
  await world.start('runner', 'runner');
  const one = await world.start('one', 'event-store');
  await world.start('two', 'event-store');
  for (let round = 0; round < 12; round += 1) {
    world.open(`r${round}`);
    world.publishGoal(`r${round}`);
    world.cluster.rebalance(one.host.group);
    if (round === 5) await world.start('three', 'event-store');
    await world.clock.run(137 * (round % 4));
  }
  await world.storeAll();
  expectExact(world);
});

test('while ClickHouse is away nothing is lost, and all is stored soon after it comes back', async () => {
  const world = await EventStoreWorld.create();
  const { lines } = await world.start('one', 'event-store');
  world.table.behaviour = () => 'away';
  for (let second = 0; second < 100; second += 1) {
    world.publishGoal(`g${second}`);
    await world.clock.run(1_000);
  }
  expect(world.table.stored.size).toBe(0);
  world.table.behaviour = () => 'store';
  await world.clock.run(6_500, () => world.allStored);
  expectExact(world);
  expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
  const warnings = lines.filter(({ level }) => level === 'warn');
  expect(warnings.length).toBeLessThan(20);
});

// Simulation, seed 276: the store took it for a broken promise.
test('a host that stops while ClickHouse is away does not claim that the range is stored', async () => {
  const world = await EventStoreWorld.create();
  const first = await world.start('one', 'event-store');
  world.table.behaviour = () => 'away';
  world.publishGoal('g');
  await world.clock.run(2_000);
  await world.settled(first.host.stop(5_000));
  expect(first.lines.filter(({ level }) => level === 'error')).toEqual([]);
  world.table.behaviour = () => 'store';
  await world.start('two', 'event-store');
  await world.storeAll();
  expectExact(world);
});

test('after a restart of everything the judgement of records is the same as without', async () => {
  const world = await EventStoreWorld.create();
  await world.start('runner', 'runner');
  let store = await world.start('s0', 'event-store');
  for (let round = 1; round < 6; round += 1) {
    world.open(`r${round}`);
    world.open(`r${round - 1}`);
    await world.clock.run(150 * round);
    store.log.crash();
    store = await world.start(`s${round}`, 'event-store');
  }
  await world.storeAll();
  expectExact(world);
  const openings = world.table.rows.filter(({ type }) => type === 'session.opened');
  expect(openings.filter(({ effective }) => effective)).toHaveLength(6);
  expect(openings.filter(({ effective }) => !effective)).toHaveLength(4);
});

test('a schema of a newer release is refused at the start', async () => {
  const world = await EventStoreWorld.create();
  const newer = new LongreinError('CLICKHOUSE_SCHEMA_NEWER', 'newer');
  const started = world.start('one', 'event-store', async () => {
    throw newer;
  });
  await expect(started).rejects.toBe(newer);
});

test('a database that is away at the start is prepared when it comes', async () => {
  const world = await EventStoreWorld.create();
  let away = true;
  const { lines } = await world.start('one', 'event-store', async () => {
    if (away) throw new LongreinError('EVENT_STORE_UNREACHABLE', 'not there', { retryable: true });
  });
  world.publishGoal('g');
  await world.clock.run(20_000);
  expect(world.table.attempts).toEqual([]);
  expect(lines.some(({ message }) => message.includes('ClickHouse'))).toBe(true);
  away = false;
  await world.storeAll();
  expectExact(world);
});
