import { beforeAll, describe, expect, test } from 'vitest';
import { lookupIn, releaseLogics } from '../../../../replay-tools/verify/logics.ts';
import { reportLines } from '../../../../replay-tools/verify/report-text.ts';
import { verifySession } from '../../../../replay-tools/verify/verify.ts';
import { keysTopic, sinksTopic } from '../../../../schemas/topics.ts';
import { createMemoryBlobs } from '../../../../services/chassis/content/blobs.ts';
import { plannerLogic } from '../../../../services/planner/decide.ts';
import { MemoryWorld } from '../../../support/memory-world.ts';
import {
  type RecordedWorld,
  recordWorld,
  type Scenario,
  scenarios,
} from '../../../support/recorded-world.ts';
import { recordsOf, sourceFromWorld } from '../../../support/world-session.ts';

let recorded: RecordedWorld;

beforeAll(async () => {
  recorded = await recordWorld();
});

const sourceOf = (name: Scenario, blobs?: ReturnType<typeof createMemoryBlobs>) => {
  const { session } = recorded.goals[name];
  return sourceFromWorld(recorded.world, session, blobs === undefined ? {} : { blobs });
};

describe('a session that went', () => {
  const withSessions = scenarios.filter((name) => name !== 'refused');

  test.each(withSessions)('%s is decided the same again', async (name) => {
    const report = await verifySession(await sourceOf(name));
    expect(reportLines(report).join('\n')).toMatch(/^Session .*\nIDENTICAL\n/);
    expect(report).toMatchObject({ identical: true, complete: true, status: 'closed' });
    expect(report.differences).toEqual([]);
    expect(report.warnings).toEqual([]);
    expect(report.tenant).toBe('acme');
    expect(report.counts.decisions).toBe(report.counts.turns);
    expect(report.counts.decisions).toBeGreaterThan(4);
  });

  test.each(scenarios)('%s has a goal log that is decided the same again', async (name) => {
    const { goalLog } = recorded.goals[name];
    const report = await verifySession(await sourceFromWorld(recorded.world, goalLog));
    expect(report).toMatchObject({ identical: true, complete: true, status: 'closed' });
    expect(Object.keys(report.services)).toEqual(['intake']);
  });
});

test('a key log is decided the same again', async () => {
  const keys = recorded.world.records(keysTopic).map(({ headers }) => headers['ce_subject'] ?? '');
  const keyLog = keys.find((id) => id.startsWith('key_')) ?? '';
  const report = await verifySession(await sourceFromWorld(recorded.world, keyLog));
  expect(report).toMatchObject({ identical: true, complete: true, status: 'running' });
});

test('the log of stored ranges is decided the same again', async () => {
  const world = await MemoryWorld.start({ hosts: [['all'], ['event-store']] });
  world.publishGoal({ goal: 'Say hello.', plan: 'echo' });
  await world.runUntilDone();
  await world.clock.run(3_000);
  const subjects = world.records(sinksTopic).map(({ headers }) => headers['ce_subject'] ?? '');
  const sinks = [...new Set(subjects)].filter((id) => id.startsWith('sink_longrein.sessions'));
  const reports = [];
  for (const sink of sinks) reports.push(await verifySession(await sourceFromWorld(world, sink)));
  expect(reports.every(({ identical, complete }) => identical && complete)).toBe(true);
  const decisions = reports.map(({ services }) => services['event-store']?.decisions ?? 0);
  expect(Math.max(...decisions)).toBeGreaterThan(0);
});

test('after a restart, turns are decided again from the checkpoint that they name', async () => {
  const world = await MemoryWorld.start({
    // A mark needs a known place: one before the stop.
    housekeepingMs: 20,
    tools: { 'test.flaky': (_call, count) => (count < 3 ? { failure: {} } : { result: {} }) },
  });
  const { session } = world.publishGoal({ goal: 'Try.', plan: 'flaky' });
  // Between two attempts nothing runs.
  await world.clock.run(100);
  await world.stopHost('host-1');
  await world.startHost('host-2', ['all']);
  await world.runUntilDone();
  expect(world.results()[0]?.status).toBe('completed');
  const source = await sourceFromWorld(world, session);
  const report = await verifySession(source);
  expect(report.differences).toEqual([]);
  expect(report).toMatchObject({ identical: true, complete: true });
  expect(report.counts.checkpoints).toBeGreaterThan(5);
  const bodies = (await recordsOf(source)).map(({ body }) => body);
  const rooted = bodies.filter((body) => body?.kind === 'turn' && body.root !== undefined);
  expect(rooted.length).toBeGreaterThan(5);
});

test('a session that still runs is verified so far, and the report says so', async () => {
  const world = await MemoryWorld.start();
  const { session } = world.publishGoal({
    goal: 'Wait.',
    plan: 'count',
    inputs: { counter: 'c', waitMs: 60_000 },
  });
  await world.clock.run(1_000);
  const report = await verifySession(await sourceFromWorld(world, session));
  expect(report).toMatchObject({ identical: true, complete: true, status: 'running' });
  expect(reportLines(report)[1]).toBe('IDENTICAL so far: the session still runs');
});

test('a session that is not there is an error that says where it was looked for', async () => {
  await expect(sourceFromWorld(recorded.world, 'ses_nowhere')).rejects.toMatchObject({
    code: 'SESSION_UNKNOWN',
    message: expect.stringContaining('ses_nowhere in the log (longrein.sessions.normal'),
    fix: expect.stringContaining('longrein session list'),
  });
});

test('turns of another behaviour are checked by hash only, and the release that wrote them is named', async () => {
  const report = await verifySession(await sourceOf('simple'), (service) =>
    service === 'planner'
      ? lookupIn([{ ...plannerLogic, behaviour: 2 } as never])('planner')
      : releaseLogics(service),
  );
  expect(report).toMatchObject({ identical: true, complete: false });
  expect(report.services['planner']).toMatchObject({ turns: 1, decisions: 0, hashOnly: 1 });
  const because = 'this release has behaviour 2';
  const wrote = { service: 'planner', behaviour: 1, release: '0.0.0-world' };
  expect(report.hashed).toEqual([{ ...wrote, turns: 1, because }]);
  expect(reportLines(report).at(-1)).toBe(
    '  note: 1 turn of behaviour 1 of release 0.0.0-world checked by hash (planner): this release has behaviour 2',
  );
});

test('a service that this release does not have is checked by hash only', async () => {
  const report = await verifySession(await sourceOf('simple'), (service) =>
    service === 'tool-guard' ? undefined : releaseLogics(service),
  );
  expect(report).toMatchObject({ identical: true, complete: false });
  expect(report.hashed).toMatchObject([{ because: 'this release has no service tool-guard' }]);
});

test('where a large content is nowhere, what needs it is checked by hash only', async () => {
  const report = await verifySession(await sourceOf('asked', createMemoryBlobs()));
  expect(report).toMatchObject({ identical: true, complete: false, status: 'closed' });
  expect(report.counts.decisions).toBeGreaterThan(0);
  expect(report.services['planner']).toMatchObject({ decisions: 1, hashOnly: 0 });
  expect(report.services['worker-pool:test']?.hashOnly).toBeGreaterThan(0);
  expect(report.warnings.some((one) => one.includes('is nowhere'))).toBe(true);
});
