import { checkRun } from './checkers/checkers.ts';
import type { Violation } from './checkers/violation.ts';
import { addCoverage, type Coverage } from './world/coverage.ts';
import { fingerprintOfSchedule, type Run, runSchedule } from './world/run.ts';
import { scheduleOf } from './world/schedule.ts';
import type { Sabotage } from './world/world.ts';

/** One seed in `repeatEvery` is run twice: the same seed must give the same log. */
const repeatEvery = 20;

export type SeedResult = Readonly<{
  seed: number;
  violations: readonly Violation[];
  records: number;
  calmMs: number;
}>;

/** Runs a seed a second time and compares. */
export async function checkSameLog(run: Run, sabotage: Sabotage = {}): Promise<Violation[]> {
  const again = await fingerprintOfSchedule(run.schedule, sabotage);
  if (again === run.fingerprint) return [];
  const rule = 'the same seed gives the same log';
  return [{ rule, detail: `fingerprints ${run.fingerprint} and ${again}` }];
}

/** Runs one seed and checks it; what happened is added to `coverage`. */
export async function runSeed(seed: number, coverage: Coverage): Promise<SeedResult> {
  const run = await runSchedule(scheduleOf(seed));
  const violations = [...(await checkRun(run))];
  if (seed % repeatEvery === 0) violations.push(...(await checkSameLog(run)));
  addCoverage(coverage, run.coverage);
  return { seed, violations, records: run.history.lines.length, calmMs: run.calmMs };
}

/** What a person reads of a seed that failed. */
export function reportOf({ seed, violations, records }: SeedResult): string {
  const shown = violations.slice(0, 12).map(({ rule, detail }) => `  ${rule}:\n    ${detail}`);
  const more =
    violations.length > shown.length ? [`  and ${violations.length - shown.length} more`] : [];
  const command = `npm run simulate -- --seeds 1 --from ${seed}`;
  return [`seed ${seed} (${records} records): ${command}`, ...shown, ...more].join('\n');
}
