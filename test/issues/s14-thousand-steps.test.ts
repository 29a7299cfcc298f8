// Source: langgraph 8531, checkpoints grew without bound, and pruning broke state.
// Bytes and records are counted here; `npm run bench -- long` measures the time.
import { expect, test } from 'vitest';
import { reportLines } from '../../replay-tools/verify/report-text.ts';
import { verifySession } from '../../replay-tools/verify/verify.ts';
import { sessionTopic } from '../../schemas/topics.ts';
import type { LogRecord } from '../../services/chassis/log/port.ts';
import { startJanitor } from '../support/memory-janitor.ts';
import { MemoryWorld } from '../support/memory-world.ts';
import { wandererCatalog, wandering } from '../support/wanderer.ts';
import { statusesOf, WorldProof } from '../support/world-proof.ts';
import { recordsOf, sourceFromWorld } from '../support/world-session.ts';

const steps = 1_000;

const isStep = ({ headers }: LogRecord): boolean => headers['lr_types'] === 'model.completed';

/** Bytes and records of each hundred steps. */
function hundreds(records: readonly LogRecord[]) {
  const parts: { bytes: number; records: number }[] = [];
  let seen = 0;
  for (const { value, ...record } of records) {
    if (isStep({ ...record, value })) seen += 1;
    const index = Math.floor(seen / 100);
    const part = parts[index] ?? { bytes: 0, records: 0 };
    parts[index] = { bytes: part.bytes + (value?.length ?? 0), records: part.records + 1 };
  }
  return parts;
}

test('a thousand steps make a log that grows by the same each time, and all of it is decided the same again', async () => {
  const world = await MemoryWorld.start({
    catalog: wandererCatalog(),
    model: wandering(steps),
    housekeepingMs: 500,
  });
  const goal = world.publishGoal({ id: 'walk', goal: 'Walk.', plan: 'wander' });
  expect(await world.runUntilDone(86_400_000)).toBe(true);
  expect(statusesOf(world)).toEqual({ walk: 'completed' });
  const log = world
    .records(sessionTopic('normal'))
    .filter(({ headers }) => headers['ce_subject'] === goal.session);
  const checkpoints = log.filter(({ headers }) => headers['lr_kind'] === 'checkpoint');
  expect(checkpoints.length).toBeGreaterThan(8);
  const own = hundreds(log.filter((record) => !checkpoints.includes(record)));
  const [early, late] = [own[1], own[9]];
  if (early === undefined || late === undefined) throw new Error('too few steps');
  // A step at the end is as many records, and as many bytes, as one at the beginning (s15).
  expect(late.records / early.records).toBeCloseTo(1, 1);
  expect(late.bytes / early.bytes).toBeLessThan(1.05);
  const all = hundreds(log)
    .slice(0, 10)
    .reduce((sum, { bytes }) => sum + bytes, 0);
  expect(all / (10 * (own[0]?.bytes ?? 0))).toBeLessThan(1.1);
  await WorldProof.of(world, goal);
});

test('what checkpoints made needless is deleted in the middle, and the rest is decided the same again', async () => {
  const answered = (): number => world.started.filter(({ name }) => name === 'test.count').length;
  const world = await MemoryWorld.start({
    catalog: wandererCatalog(),
    model: wandering(steps),
    housekeepingMs: 500,
  });
  const goal = world.publishGoal({ id: 'walk', goal: 'Walk.', plan: 'wander' });
  expect(await world.clock.run(86_400_000, () => answered() === 600)).toBe(true);
  const janitor = await startJanitor(world);
  await janitor.run();
  expect(await world.runUntilDone(86_400_000)).toBe(true);
  expect(statusesOf(world)).toEqual({ walk: 'completed' });
  expect(answered()).toBe(steps);
  const source = await sourceFromWorld(world, goal.session);
  const records = await recordsOf(source);
  expect(records[0]?.offset).toBeGreaterThan(300);
  const report = await verifySession(source);
  expect(report, reportLines(report).join('\n')).toMatchObject({
    ...{ identical: true, complete: false, status: 'closed' },
  });
  expect(report.counts.decisions).toBeGreaterThan(1_000);
});
