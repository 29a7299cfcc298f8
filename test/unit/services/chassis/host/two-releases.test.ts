// Hard edge 1b.13.
import { describe, expect, test } from 'vitest';
import { allLogics, lookupIn } from '../../../../../replay-tools/verify/logics.ts';
import { reportLines } from '../../../../../replay-tools/verify/report-text.ts';
import { verifySession } from '../../../../../replay-tools/verify/verify.ts';
import { presenceTopic } from '../../../../../schemas/topics.ts';
import type { Heartbeat } from '../../../../../services/chassis/host/presence.ts';
import { MemoryWorld, type Published, worldCatalog } from '../../../../support/memory-world.ts';
import { type NextRelease, nextLogic, nextReleaseName } from '../../../../support/next-release.ts';
import { sourceFromWorld } from '../../../../support/world-session.ts';

/** Hosts of two releases on one log, that decide, fold and save differently. */

const pools = worldCatalog().pools.map(({ name }) => name);

const next = (release: NextRelease = {}) => ({
  release: nextReleaseName,
  change: (logic: Parameters<typeof nextLogic>[0]) => nextLogic(logic, release),
});

const submit = (world: MemoryWorld, count: number): readonly Published[] =>
  Array.from({ length: count }, (_one, index) =>
    world.publishGoal({
      goal: 'Count.',
      plan: 'count',
      inputs: { counter: `c-${world.published.length}`, waitMs: 400 + 200 * index },
    }),
  );

/** Each goal has one result, and no tool was started twice for one call. */
function expectOnce(world: MemoryWorld): void {
  const results = world.results();
  expect(results.map(({ goalId }) => goalId).sort()).toEqual(
    world.published.map(({ goalId }) => goalId).sort(),
  );
  expect(results.filter(({ status }) => status !== 'completed')).toEqual([]);
  const calls = world.started.map(({ service, call }) => `${service} ${call}`);
  expect(new Set(calls).size).toBe(calls.length);
}

/** By today's release some turns can be checked by hash only; by one that carries both behaviours, none. */
async function expectProved(world: MemoryWorld, release: NextRelease = {}): Promise<void> {
  const today = allLogics(pools);
  const both = lookupIn([...today, ...today.map((logic) => nextLogic(logic, release))]);
  let hashed = 0;
  for (const { session, goalLog } of world.published) {
    for (const log of [session, goalLog]) {
      const source = await sourceFromWorld(world, log);
      const ofToday = await verifySession(source);
      expect(reportLines(ofToday).filter((line) => line.startsWith('!'))).toEqual([]);
      for (const one of ofToday.hashed) {
        expect(one).toMatchObject({ release: nextReleaseName, behaviour: 2 });
        hashed += one.turns;
      }
      const ofBoth = await verifySession(source, both);
      expect(reportLines(ofBoth).filter((line) => line.startsWith('!'))).toEqual([]);
      expect(ofBoth.hashed).toEqual([]);
    }
  }
  expect(hashed).toBeGreaterThan(0);
}

describe('an upgrade and a roll-back while goals run', () => {
  test.each([
    ['that stop in good order', 'stopHost'],
    ['that die', 'crash'],
  ] as const)(
    'of hosts %s leave one result for each goal, and nothing doubled',
    async (_how, end) => {
      const world = await MemoryWorld.start({ seed: 31, housekeepingMs: 50, crashNoticedMs: 500 });
      submit(world, 4);
      await world.clock.run(400);
      await world.startHost('next-1', ['all'], next());
      submit(world, 4);
      await world.clock.run(400);
      await world[end]('host-1');
      submit(world, 4);
      await world.clock.run(2_000);
      await world.startHost('host-2', ['all']);
      await world.clock.run(400);
      submit(world, 2);
      await world.clock.run(300);
      await world[end]('next-1');
      expect(await world.runUntilDone()).toBe(true);
      if (end === 'stopHost') expectOnce(world);
      else expect(world.results().length).toBe(world.published.length);
      await expectProved(world);
    },
  );
});

const beats = (world: MemoryWorld): readonly Heartbeat[] =>
  world.cluster
    .records({ topic: presenceTopic, partition: 0 })
    .map(({ value }) => world.codec.decode(value ?? new Uint8Array()).body as Heartbeat);

describe('an event that only the newer release knows', () => {
  const release: NextRelease = { says: 'task.explained' };

  test('makes the older one stand by for its sessions; others go on, and all do under the newer', async () => {
    const world = await MemoryWorld.start({ seed: 32, housekeepingMs: 50, hosts: [] });
    await world.startHost('next-1', ['all'], next(release));
    await world.clock.run(2_000);
    const held = submit(world, 2);
    await world.clock.run(600);
    world.crash('next-1');
    const old = await world.startHost('host-1', ['all']);
    await world.clock.run(30_000);
    const free = submit(world, 2);
    await world.clock.run(30_000);
    const done = new Set(world.results().map(({ goalId }) => goalId));
    expect(free.every(({ goalId }) => done.has(goalId))).toBe(true);
    expect(held.some(({ goalId }) => done.has(goalId))).toBe(false);
    const said = old.logger.lines.filter(({ message }) => message.includes('newer release'));
    expect(said[0]?.fields).toMatchObject({
      because: 'event task.explained version 1',
      release: nextReleaseName,
    });
    expect(old.host.status().partitions.some(({ standsBy }) => standsBy !== undefined)).toBe(true);
    const standing = Object.values(beats(world).at(-1)?.standsBy ?? {});
    expect(standing.reduce((sum, { sessions }) => sum + sessions, 0)).toBe(held.length);
    await world.startHost('next-2', ['all'], next(release));
    await world.stopHost('host-1');
    expect(await world.runUntilDone()).toBe(true);
    expect(world.results().length).toBe(world.published.length);
    const failed = world.records().map(({ headers }) => headers['lr_types'] ?? '');
    expect(failed.filter((types) => types.includes('decision.failed'))).toEqual([]);
    await expectProved(world, release);
  });

  test.each([
    ['goes on from a checkpoint that the newer one left in a form that it reads', 'previous-fold'],
    ['stands by where the newer one left its own form, until that is back', 'own-fold'],
  ] as const)('after a stop in good order the older one %s', async (_what, writes) => {
    const forms: NextRelease = { ...release, writes };
    const world = await MemoryWorld.start({
      ...{ seed: 34, housekeepingMs: 20, hosts: [] },
      tools: { 'test.flaky': (_call, count) => (count < 3 ? { failure: {} } : { result: {} }) },
    });
    await world.startHost('next-1', ['all'], next(forms));
    await world.clock.run(2_000);
    for (const goal of ['Try.', 'Try as well.']) world.publishGoal({ goal, plan: 'flaky' });
    // Between two attempts nothing runs.
    await world.clock.run(100);
    await world.stopHost('next-1');
    const old = await world.startHost('host-1', ['all']);
    await world.clock.run(20_000);
    const isRead = writes === 'previous-fold';
    expect(world.results()).toHaveLength(isRead ? 2 : 0);
    if (!isRead) {
      const reasons = old.logger.lines.map(({ fields }) => String(Object(fields).because));
      expect(reasons.some((because) => /^a checkpoint of .* in fold 2$/.test(because))).toBe(true);
      await world.startHost('next-2', ['all'], next(forms));
      await world.stopHost('host-1');
      expect(await world.runUntilDone()).toBe(true);
    }
    expectOnce(world);
    await expectProved(world, forms);
  });

  test('is passed by where its record names its readers, and this service is none', async () => {
    const named: NextRelease = { ...release, readers: ['event-store'] };
    const world = await MemoryWorld.start({ seed: 33, housekeepingMs: 50, hosts: [] });
    await world.startHost('next-1', ['all'], next(named));
    await world.clock.run(2_000);
    submit(world, 2);
    await world.clock.run(600);
    await world.startHost('host-1', ['all']);
    await world.stopHost('next-1');
    expect(await world.runUntilDone()).toBe(true);
    expectOnce(world);
  });
});
