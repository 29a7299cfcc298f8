import { afterAll, beforeAll, expect, test } from 'vitest';
import { judgeSession } from '../../../../replay-tools/read/session.ts';
import { verifySession } from '../../../../replay-tools/verify/verify.ts';
import { isNewerBody } from '../../../../services/chassis/protocol/record.ts';
import { KeyRing } from '../../../support/key-ring.ts';
import { MemoryWorld } from '../../../support/memory-world.ts';
import { exportFromWorld, recordsOf, sourceFromWorld } from '../../../support/world-session.ts';

/** A session whose tenant has keys, from its goal to its replay: sealed everywhere, decided as ever, gone with its key. */

const planted = 'Elfriede Planted, 12 Nowhere Lane';
const large = `${planted} ${'x'.repeat(60_000)}`;

let ring: KeyRing;
let world: MemoryWorld;
let session: string;
let goalLog: string;

beforeAll(async () => {
  ring = new KeyRing();
  world = await MemoryWorld.start({
    ...{ seed: 7, housekeepingMs: 20, keys: () => ring.open(), hosts: [['all'], ['all']] },
    tools: {
      'test.flaky': (_call, count) => (count < 3 ? { failure: {} } : { result: { said: large } }),
    },
  });
  ({ session, goalLog } = world.publishGoal({ goal: planted, plan: 'flaky' }));
  await world.clock.run(100);
  await world.stopHost('host-1');
  await world.startHost('host-3', ['all']);
  expect(await world.runUntilDone()).toBe(true);
});
afterAll(() => ring.remove());

const bytesOfLog = (): string =>
  world
    .records()
    .map(({ value }) => Buffer.from(value ?? []).toString('utf8'))
    .join('\n');

test('nothing of it stands open in session logs, goal logs or blobs', () => {
  expect(bytesOfLog()).toContain('"sealed":"');
  expect(bytesOfLog()).not.toContain('Planted');
  const blobs = [...world.blobs.entries().values()];
  expect(blobs.length).toBeGreaterThan(0);
  expect(blobs.join('\n')).not.toContain('Planted');
});

test('a release that cannot open it takes its records for those of a newer one', () => {
  const sealed = world.records().filter(({ headers }) => headers['lr_codec'] !== undefined);
  expect(sealed.length).toBeGreaterThan(10);
  for (const { headers } of sealed) {
    expect(headers['ce_type']).toMatch(/\.v3$/);
    expect(isNewerBody(headers)).toBe(false);
    expect(isNewerBody({ ...headers, ce_type: `longrein.${headers['lr_kind']}.v4` })).toBe(true);
  }
});

test.each(['session', 'goal log'])('every decision of the %s comes out the same', async (which) => {
  const id = which === 'session' ? session : goalLog;
  const report = await verifySession(await sourceFromWorld(world, id, { keys: ring.open() }));
  expect(report).toMatchObject({ identical: true, complete: true, warnings: [] });
  expect(report.counts.decisions).toBeGreaterThan(1);
  expect(report.counts.contents).toBeGreaterThan(1);
});

test('an export holds it sealed, and is read with the key only', async () => {
  const text = await exportFromWorld(world, session, { keys: ring.open() });
  expect(text).not.toContain('Planted');
  const open = await sourceFromWorld(world, session, { keys: ring.open() });
  expect(JSON.stringify(await recordsOf(open))).toContain('Planted');
  const blind = await sourceFromWorld(world, session, { keys: ring.closed() });
  expect(JSON.stringify(await recordsOf(blind))).not.toContain('Planted');
});

test('without keys it is checked by hash only, which is said once and is no difference', async () => {
  const report = await verifySession(
    await sourceFromWorld(world, session, { keys: ring.closed() }),
  );
  expect(report).toMatchObject({ identical: true, complete: false, status: 'closed' });
  expect(report.counts.hashOnly).toBeGreaterThan(0);
  expect(report.warnings.filter((one) => one.includes('sealed'))).toHaveLength(1);
});

test('with its key dropped nobody reads it; a host that reads its log again goes on with others', async () => {
  ring.open().erase({ session, tenant: 'default', by: 'ann', reason: 'asked for', atMs: 5 });
  const after = await sourceFromWorld(world, session, { keys: ring.open() });
  expect(JSON.stringify(await recordsOf(after))).not.toContain('Planted');
  expect((await judgeSession(after)).core.status).toBe('closed');
  expect(await verifySession(after)).toMatchObject({ identical: true, complete: false });
  await world.startHost('host-4', ['all']);
  await world.stopHost('host-2');
  await world.stopHost('host-3');
  const other = world.publishGoal({ goal: 'Another one.', plan: 'flaky' });
  expect(await world.runUntilDone()).toBe(true);
  expect(world.results().at(-1)).toMatchObject({ session: other.session, status: 'completed' });
});
