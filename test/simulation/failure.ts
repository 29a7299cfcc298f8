import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { AblatableRule } from '../../services/chassis/ablation.ts';
import { tryOut } from './batch.ts';
import type { Violation } from './checkers/violation.ts';
import { writtenSchedule } from './schedule-file.ts';
import { shrink } from './shrink.ts';
import { timelineOf } from './timeline.ts';
import type { Run } from './world/run-outcome.ts';
import type { Schedule } from './world/schedule-shape.ts';

/** A schedule that broke rules: which, and how to see it again. */
export type Failure = Readonly<{
  schedule: Schedule;
  violations: readonly Violation[];
  ablate: AblatableRule | undefined;
}>;

export type Smallest = Failure & Readonly<{ run: Run | undefined; runs: number }>;

/** Time of this process at work: on a machine that is busy with other things it is not cut short. */
function workedMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** The same failure in the smallest schedule that can be found in this many runs and this time. */
export async function smallest(
  failure: Failure,
  bounds: Readonly<{ runsMax: number; timeMsMax: number }>,
): Promise<Smallest> {
  const { ablate, violations } = failure;
  const rule = violations[0]?.rule;
  const broken = ({ violations: all }: { violations: readonly Violation[] }): boolean =>
    all.some((one) => one.rule === rule);
  const { schedule, runs } = await shrink(failure.schedule, {
    ...bounds,
    nowMs: workedMs,
    fails: async (candidate) => broken(await tryOut({ schedule: candidate, ablate })),
  });
  const { run, violations: found } = await tryOut({ schedule, ablate });
  const same = found.filter((one) => one.rule === rule);
  return { schedule, ablate, run, runs, violations: same.length > 0 ? same : violations };
}

const shownMax = 5;

/** What was violated, for people: the first of each rule in full. */
export function violationText(violations: readonly Violation[]): string {
  const lines = violations
    .slice(0, shownMax)
    .map(({ rule, detail }) => `  ${rule}:\n    ${detail}`);
  const more = violations.length - shownMax;
  return [...lines, ...(more > 0 ? [`  and ${more} more`] : [])].join('\n');
}

export function storyOf({ run, violations, schedule, runs }: Smallest): string {
  const size = `${schedule.actions.length} actions, found in ${runs} runs`;
  const head = [`The smallest schedule that still breaks it (${size}):`, violationText(violations)];
  return [...head, ...(run === undefined ? [] : [timelineOf(run, violations)])].join('\n');
}

/** Writes the schedule to a file that `--schedule` takes. */
export function storeSchedule(path: string, { schedule, ablate, violations }: Failure): void {
  mkdirSync(dirname(path), { recursive: true });
  const violates = violations[0]?.rule;
  const stored = { rule: ablate, violates, seeds: [schedule.seed], schedule };
  writeFileSync(path, writtenSchedule(stored));
}
