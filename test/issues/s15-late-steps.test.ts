// Source: mastra 21289, each step of a long run cost more than the one before. Work is counted here, call by call, so that a
// slow machine changes nothing; `npm run bench -- long` measures the time.
import { expect, test } from 'vitest';
import { sessionTopic } from '../../schemas/topics.ts';
import type { LogRecord } from '../../services/chassis/log/port.ts';
import type { AnyLogic } from '../../services/chassis/protocol/service-logic.ts';
import { MemoryWorld } from '../support/memory-world.ts';
import { wandererCatalog, wandering } from '../support/wanderer.ts';
import { statusesOf } from '../support/world-proof.ts';

const steps = 210;
const window = 10;

/** What services were asked so far, in each step: decisions, folds, and what became of them. */
class Work {
  readonly decided: number[] = [];
  readonly folded: number[] = [];

  readonly count = (logic: AnyLogic): AnyLogic => ({
    ...logic,
    decide: (state, input) => {
      this.add(this.decided);
      return logic.decide(state, input);
    },
    evolve: (state, event) => {
      this.add(this.folded);
      return logic.evolve(state, event);
    },
  });

  nextStep(): void {
    this.decided.push(0);
    this.folded.push(0);
  }

  private add(counts: number[]): void {
    counts[counts.length - 1] = (counts.at(-1) ?? 0) + 1;
  }
}

/** The 95th percentile of a window that begins at this step. */
function p95(all: readonly number[], from: number): number {
  const part = all.slice(from, from + window).sort((one, other) => one - other);
  return part[Math.ceil(part.length * 0.95) - 1] ?? 0;
}

/** Appends of a step: requests that a host sent, each one record or one batch of them. */
function appendsOf(records: readonly LogRecord[]): number[] {
  const steps: Set<string>[] = [new Set()];
  for (const { headers } of records) {
    if (headers['lr_types'] === 'model.completed') steps.push(new Set());
    steps.at(-1)?.add(headers['lr_batch'] ?? headers['ce_id'] ?? '');
  }
  return steps.map((one) => one.size);
}

test('the two-hundredth step costs at most 1.2 times what the first ones do', async () => {
  const work = new Work();
  work.nextStep();
  const world = await MemoryWorld.start({
    catalog: wandererCatalog(),
    model: wandering(steps, () => work.nextStep()),
    change: work.count,
    housekeepingMs: 500,
  });
  const goal = world.publishGoal({ id: 'walk', goal: 'Walk.', plan: 'wander' });
  expect(await world.runUntilDone(86_400_000)).toBe(true);
  expect(statusesOf(world)).toEqual({ walk: 'completed' });
  const own = world
    .records(sessionTopic('normal'))
    .filter(({ headers }) => headers['ce_subject'] === goal.session);
  const appends = appendsOf(own.filter(({ headers }) => headers['lr_kind'] !== 'checkpoint'));
  for (const counts of [work.decided, work.folded, appends]) {
    expect(counts.length).toBeGreaterThanOrEqual(steps);
    expect(p95(counts, 2)).toBeGreaterThan(0);
    expect(p95(counts, 195) / p95(counts, 2)).toBeLessThanOrEqual(1.2);
  }
});
