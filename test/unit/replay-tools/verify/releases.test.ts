// Hard edge 1b.3.
import { beforeAll, describe, expect, test } from 'vitest';
import type { SessionSource } from '../../../../replay-tools/read/source.ts';
import {
  type LogicLookup,
  lookupIn,
  releaseLogics,
} from '../../../../replay-tools/verify/logics.ts';
import { reportLines } from '../../../../replay-tools/verify/report-text.ts';
import { verifySession } from '../../../../replay-tools/verify/verify.ts';
import type { CheckpointBody } from '../../../../services/chassis/protocol/record.ts';
import { type HostRelease, MemoryWorld } from '../../../support/memory-world.ts';
import { type NextRelease, nextLogic, nextReleaseName } from '../../../support/next-release.ts';
import { recordsOf, sourceFromWorld, withRecords } from '../../../support/world-session.ts';

/** Sessions that more than one release worked on. */

const release: NextRelease = { writes: 'own-fold' };

const ofNext: LogicLookup = (service) => {
  const logic = releaseLogics(service);
  return logic === undefined ? undefined : nextLogic(logic, release);
};
const ofBoth: LogicLookup = (service, behaviour) => {
  const logic = releaseLogics(service);
  const next = ofNext(service);
  return logic && next ? lookupIn([logic, next])(service, behaviour) : undefined;
};

let source: SessionSource;

/** This release begins and leaves a checkpoint; the next one starts from it, leaves one of its own fold, and ends it. */
beforeAll(async () => {
  const world = await MemoryWorld.start({
    ...{ seed: 41, housekeepingMs: 20 },
    tools: { 'test.flaky': (_call, count) => (count < 3 ? { failure: {} } : { result: {} }) },
  });
  const { session } = world.publishGoal({ goal: 'Try.', plan: 'flaky' });
  // Between two attempts nothing runs.
  await world.clock.run(100);
  await world.stopHost('host-1');
  const next: HostRelease = {
    release: nextReleaseName,
    change: (logic) => nextLogic(logic, release),
  };
  await world.startHost('next-1', ['all'], next);
  await world.clock.run(60_000, () => world.started.length === 2);
  await world.clock.run(100);
  await world.stopHost('next-1');
  await world.startHost('next-2', ['all'], next);
  await world.runUntilDone();
  source = await sourceFromWorld(world, session);
});

async function checkpoints(): Promise<readonly CheckpointBody[]> {
  const bodies = (await recordsOf(source)).map(({ body }) => body);
  return bodies.flatMap((body) => (body?.kind === 'checkpoint' ? [body] : []));
}

const wrong = (report: Awaited<ReturnType<typeof verifySession>>): string[] =>
  reportLines(report).filter((line) => line.startsWith('!'));

describe('a checkpoint of an older fold under a newer one', () => {
  test('is the root of the newer one, which says so', async () => {
    const [older, newer] = [1, 2].map(async (fold) =>
      (await checkpoints()).filter((one) => one.fold === fold),
    );
    expect((await older)?.length).toBeGreaterThan(3);
    expect((await newer)?.length).toBeGreaterThan(3);
    expect((await newer)?.every(({ root }) => root !== undefined)).toBe(true);
    expect((await newer)?.every(({ beginning }) => beginning !== undefined)).toBe(true);
  });

  test('is where verify starts: it finds no false difference', async () => {
    const report = await verifySession(source, ofNext);
    expect(wrong(report)).toEqual([]);
    expect(report.identical).toBe(true);
    const before = report.hashed.filter((one) => one.release === '0.0.0-world');
    expect(report.hashed).toEqual(before);
    expect(before.every(({ because }) => because === 'this release has behaviour 2')).toBe(true);
  });

  test('without its name in the newer one, the states do differ: a fold from the beginning is another', async () => {
    const records = await recordsOf(source);
    const rootless = records.map((record) => {
      if (record.body?.kind !== 'checkpoint' || record.body.fold !== 2) return record;
      const { root: _root, ...body } = record.body;
      return { ...record, body };
    });
    const report = await verifySession(withRecords(source, rootless), ofNext);
    expect(report.identical).toBe(false);
  });
});

test('a release that carries both behaviours decides every turn again', async () => {
  const report = await verifySession(source, ofBoth);
  expect(wrong(report)).toEqual([]);
  expect(report).toMatchObject({ identical: true, complete: true, hashed: [] });
  expect(report.counts.decisions).toBe(report.counts.turns);
});

test('the older release checks what the newer decided by hash, counts it and names the release', async () => {
  const report = await verifySession(source);
  expect(wrong(report)).toEqual([]);
  expect(report).toMatchObject({ identical: true, complete: false });
  expect(report.hashed.length).toBeGreaterThan(2);
  for (const one of report.hashed)
    expect(one).toMatchObject({ behaviour: 2, release: nextReleaseName });
  const supervisor = report.hashed.find(({ service }) => service === 'supervisor');
  expect(reportLines(report)).toContain(
    `  note: ${supervisor?.turns} turns of behaviour 2 of release 99.0.0-next checked by hash (supervisor): this release has behaviour 1`,
  );
  expect(report.counts.decisions).toBeGreaterThan(3);
});

test('what the newer release changed afterwards is found by hash all the same', async () => {
  const records = (await recordsOf(source)).map((record) => {
    const { body } = record;
    if (body?.kind !== 'turn' || body.behaviour !== 2) return record;
    return { ...record, body: { ...body, principal: 'somebody else' } };
  });
  const report = await verifySession(withRecords(source, records));
  expect(report.identical).toBe(false);
  expect(report.differences[0]?.kind).toBe('record-id');
});
