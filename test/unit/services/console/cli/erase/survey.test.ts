import { afterAll, beforeAll, expect, test } from 'vitest';
import { isRunning } from '../../../../../../services/console/cli/erase/erase.ts';
import { writeErasure } from '../../../../../../services/console/cli/erase/record.ts';
import { surveyLogs, type Wanted } from '../../../../../../services/console/cli/erase/survey.ts';
import { KeyRing } from '../../../../../support/key-ring.ts';
import { MemoryWorld, type Published } from '../../../../../support/memory-world.ts';

/** What the logs say of sessions before they are erased, and the record that they get. */

let ring: KeyRing;
let world: MemoryWorld;
let ended: Published;
let running: Published;

beforeAll(async () => {
  ring = new KeyRing({
    acme: { current: 'k', keys: { k: Buffer.alloc(32, 7).toString('base64') } },
  });
  world = await MemoryWorld.start({
    ...{ seed: 5, keys: () => ring.open() },
    tools: { 'test.flaky': () => ({ result: { said: 'x'.repeat(70_000) } }) },
  });
  ended = world.publishGoal({ goal: 'Once.', plan: 'flaky', tenant: 'acme' });
  world.publishGoal({ goal: 'Of another.', plan: 'flaky', tenant: 'other' });
  expect(await world.runUntilDone()).toBe(true);
  await world.stop();
  running = world.publishGoal({ goal: 'Again.', plan: 'flaky', tenant: 'acme' });
  await world.startHost('later', ['intake', 'planner']);
  await world.clock.run(5_000);
});
afterAll(() => ring.remove());

const survey = (wanted: Wanted) => world.during(surveyLogs(world.connect('survey'), wanted));

test('of one session it finds both logs, sealed, closed, with blobs and the goal as it was published', async () => {
  const found = (await survey({ session: ended.session })).get(ended.session);
  expect(found).toMatchObject({ session: ended.session, tenant: 'acme' });
  expect(found?.logs.map(({ log }) => log).sort()).toEqual([ended.goalLog, ended.session].sort());
  for (const log of found?.logs ?? [])
    expect(log).toMatchObject({ closed: true, sealed: true, open: false, erased: false });
  const origins = found?.logs.flatMap((log) => log.origins) ?? [];
  expect(origins).toMatchObject([{ topic: 'longrein.goals', partition: expect.any(Number) }]);
  expect(found?.logs.some(({ blobs }) => blobs.size > 0)).toBe(true);
  expect(found !== undefined && isRunning(found)).toBe(false);
});

test('of a tenant it finds all sessions, and which of them still run', async () => {
  const found = await survey({ tenant: 'acme' });
  expect([...found.keys()].sort()).toEqual([ended.session, running.session].sort());
  const still = [...found.values()].filter(isRunning).map(({ session }) => session);
  expect(still).toEqual([running.session]);
  expect((await survey({ tenant: 'nobody' })).size).toBe(0);
});

test('the record of an erasure is written once, behind the end, and found again', async () => {
  const before = (await survey({ session: ended.session })).get(ended.session);
  if (before === undefined) throw new Error('the session was not found');
  const counts = { sealed: true, blobs: 1, rows: 2, files: 0 };
  const said = { by: 'ann', reason: 'a request', ...counts, atMs: 1 };
  const log = world.connect('erase');
  expect(await world.during(writeErasure(log, before, said))).toBe('written');
  const after = (await survey({ session: ended.session })).get(ended.session);
  expect(after?.logs.find(({ log: name }) => name === ended.session)).toMatchObject({
    erased: true,
  });
  if (after === undefined) throw new Error('the session was not found');
  expect(await world.during(writeErasure(log, after, said))).toBe('there before');
});
