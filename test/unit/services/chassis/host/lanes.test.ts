import { expect, test } from 'vitest';
import { readLaneTable } from '../../../../../replay-tools/read/lane-table.ts';
import { readOpenSessions } from '../../../../../replay-tools/read/open-sessions.ts';
import { readWaitingGoals } from '../../../../../replay-tools/read/waiting-goals.ts';
import { registryTopic } from '../../../../../schemas/topics.ts';
import { newestGeneration } from '../../../../../services/chassis/host/lane-table.ts';
import { quietLogger } from '../../../../../services/chassis/telemetry/quiet-logger.ts';
import {
  addGeneration,
  retireGeneration,
} from '../../../../../services/console/cli/lane-change.ts';
import { startJanitor } from '../../../../support/memory-janitor.ts';
import { MemoryWorld } from '../../../../support/memory-world.ts';

const author = { by: 'ann', reason: 'test', atMs: 1_000 };
const laneOne = 'longrein.sessions.normal';
const laneTwo = 'longrein.sessions.normal.g2';

const world = (): Promise<MemoryWorld> =>
  MemoryWorld.start({
    hosts: [['all'], ['intake', 'supervisor', 'planner'], ['all']],
    tools: { 'test.echo': ({ arguments: given }) => ({ afterMs: 5_000, result: given }) },
  });

const opened = (of: MemoryWorld, topic: string): readonly string[] =>
  of
    .records(topic)
    .filter(({ headers }) => headers['lr_types'] === 'session.opened')
    .map(({ headers }) => headers['ce_subject'] ?? '');

test('new sessions go to the next generation, and those that run end where they are', async () => {
  const running = await world();
  const log = running.connect('operator');
  const before = [1, 2, 3].map(() => running.publishGoal({ goal: 'before', plan: 'echo' }));
  await running.clock.run(40);
  await running.during(addGeneration(log, 5, author));
  await running.clock.run(5_000);
  const after = [1, 2, 3, 4].map(() => running.publishGoal({ goal: 'after', plan: 'echo' }));
  expect(await running.runUntilDone()).toBe(true);
  expect(running.partitionCount(laneTwo)).toBe(5);
  expect(opened(running, laneTwo).toSorted()).toEqual(
    after.map(({ session }) => session).toSorted(),
  );
  expect(opened(running, laneOne).toSorted()).toEqual(
    before.map(({ session }) => session).toSorted(),
  );
  const results = running.results().map(({ goalId, status }) => `${goalId} ${status}`);
  expect(new Set(results).size).toBe(7);
  expect(results.every((one) => one.endsWith('completed'))).toBe(true);
  expect(running.fatal).toEqual([]);
});

test('a goal that is repeated after a rescale follows the first one', async () => {
  const running = await world();
  const log = running.connect('operator');
  running.publishGoal({ goal: 'once', plan: 'echo', id: 'same' });
  await running.runUntilDone();
  await running.during(addGeneration(log, 3, author));
  await running.clock.run(5_000);
  running.publishGoal({ goal: 'once', plan: 'echo', id: 'same' });
  await running.clock.run(60_000);
  expect(opened(running, laneOne)).toHaveLength(1);
  expect(opened(running, laneTwo)).toEqual([]);
  expect(running.results()).toHaveLength(1);
});

test('a host that starts after a rescale knows both generations', async () => {
  const running = await world();
  const log = running.connect('operator');
  await running.during(addGeneration(log, 3, author));
  for (const { name } of [...running.hosts]) running.crash(name);
  await running.startHost('later', ['all']);
  const { session } = running.publishGoal({ goal: 'late', plan: 'echo' });
  expect(await running.runUntilDone()).toBe(true);
  expect(opened(running, laneTwo)).toEqual([session]);
});

test('what is open is counted from the log, also goals that wait for their key', async () => {
  const running = await world();
  const log = running.connect('operator');
  running.publishGoal({ goal: 'runs', plan: 'echo', key: 'k' });
  running.publishGoal({ goal: 'waits', plan: 'echo', key: 'k' });
  await running.clock.run(3_000);
  const open = await running.during(readOpenSessions(log, quietLogger, [laneOne]));
  expect(open.flatMap((partition) => partition.open)).toHaveLength(1);
  const waiting = await running.during(readWaitingGoals(log, quietLogger));
  expect(waiting.map(({ lane }) => lane)).toEqual(['normal', 'normal']);
  await running.runUntilDone();
  await running.clock.run(5_000);
  const left = await running.during(readOpenSessions(log, quietLogger, [laneOne]));
  expect(left.flatMap((partition) => partition.open)).toEqual([]);
  expect(await running.during(readWaitingGoals(log, quietLogger))).toEqual([]);
});

test('what is open is counted right in a log whose beginning was trimmed', async () => {
  const running = await MemoryWorld.start({
    housekeepingMs: 300,
    partitions: 1,
    tools: { 'test.wait': () => ({ never: true }) },
  });
  const janitor = await startJanitor(running);
  for (const said of ['a', 'b', 'c']) running.publishGoal({ goal: said, plan: 'echo' });
  expect(await running.runUntilDone()).toBe(true);
  for (let round = 0; round < 6; round += 1) {
    await running.clock.run(20_000);
    await janitor.run();
  }
  const { session } = running.publishGoal({
    goal: 'stays',
    plan: 'count',
    inputs: { counter: 'c', waitMs: 9 },
  });
  await running.clock.run(2_000);
  const log = running.connect('operator');
  expect((await running.during(log.bounds(laneOne))).get(0)?.low).toBeGreaterThan(0);
  const open = await running.during(readOpenSessions(log, quietLogger, [laneOne]));
  expect(open.flatMap((partition) => partition.open)).toEqual([session]);
});

test('a retired generation is read no more, and the rest goes on', async () => {
  const running = await world();
  const log = running.connect('operator');
  await running.during(addGeneration(log, 3, author));
  await running.during(retireGeneration(log, 1, author));
  await running.clock.run(10_000);
  const read = running.hosts.flatMap(({ host }) =>
    host.status().partitions.map(({ name }) => name),
  );
  expect(read.filter((name) => name.startsWith(`${laneOne}/`))).toEqual([]);
  expect(read.filter((name) => name.startsWith(`${laneTwo}/`)).length).toBeGreaterThan(0);
  running.publishGoal({ goal: 'after', plan: 'echo' });
  expect(await running.runUntilDone()).toBe(true);
});

test('a table that this release cannot read leaves the lanes as they are', async () => {
  const running = await world();
  const log = running.connect('operator');
  const value = Buffer.from('{"generations":"many"}');
  const record = { key: 'topics/lanes', headers: {}, value };
  await running.during(log.append({ topic: registryTopic, partition: 0 }, [record]));
  await running.clock.run(1_000);
  running.publishGoal({ goal: 'as before', plan: 'echo' });
  expect(await running.runUntilDone()).toBe(true);
  await expect(running.during(readLaneTable(log))).rejects.toMatchObject({
    code: 'LANE_TABLE_INVALID',
  });
});

test('the table is read as the newest record says', async () => {
  const running = await world();
  const log = running.connect('operator');
  expect(newestGeneration(await running.during(readLaneTable(log)))).toMatchObject({
    generation: 1,
    partitions: 2,
  });
  await running.during(addGeneration(log, 3, author));
  await running.during(addGeneration(log, 4, author));
  const table = await running.during(readLaneTable(log));
  expect(newestGeneration(table)).toMatchObject({ generation: 3, partitions: 4, by: 'ann' });
});
