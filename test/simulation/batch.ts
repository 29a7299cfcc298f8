import { type AblatableRule, takeAway } from '../../services/chassis/ablation.ts';
import { toError } from '../../services/chassis/errors.ts';
import { checkRun, ends } from './checkers/checkers.ts';
import { noToy } from './checkers/no-toy.ts';
import type { Violation } from './checkers/violation.ts';
import { ruleAway } from './rules.ts';
import { schedulePlayed } from './world/brief.ts';
import { addCoverage, type Coverage } from './world/coverage.ts';
import { fingerprintOfSchedule, runSchedule } from './world/run.ts';
import type { Run } from './world/run-outcome.ts';
import type { Schedule } from './world/schedule-shape.ts';
import type { Sabotage } from './world/world.ts';

/** One seed in `repeatEvery` is run twice: the same seed must give the same log. */
const repeatEvery = 20;

export type Trial = Readonly<{
  schedule: Schedule;
  /** The rule that is taken away. */
  ablate?: AblatableRule | undefined;
  /** Runs it twice and compares. */
  twice?: boolean;
}>;

/** `run`: undefined where it did not come to its end. */
export type Verdict = Readonly<{ run: Run | undefined; violations: readonly Violation[] }>;

export type SeedResult = Readonly<{
  seed: number;
  violations: readonly Violation[];
  records: number;
  calmMs: number;
  /** Whether it was the long schedule of a seed whose schedule is a brief one otherwise. */
  isLong: boolean;
}>;

/** The rule of a seed that is run twice. */
export const sameLog = 'the same seed gives the same log';

/** Runs a seed a second time and compares. */
export async function checkSameLog(run: Run, sabotage: Sabotage = {}): Promise<Violation[]> {
  const again = await fingerprintOfSchedule(run.schedule, sabotage);
  if (again === run.fingerprint) return [];
  return [{ rule: sameLog, detail: `fingerprints ${run.fingerprint} and ${again}` }];
}

async function tryWith(trial: Trial): Promise<Verdict> {
  const { schedule, ablate, twice } = trial;
  const { sabotage = {}, everyReader } = ablate === undefined ? {} : ruleAway(ablate);
  takeAway(ablate === undefined ? [] : [ablate]);
  const run = await runSchedule(schedule, sabotage);
  const more = twice === true ? await checkSameLog(run, sabotage) : [];
  if (everyReader !== true) takeAway([]);
  return { run, violations: [...(await checkRun(run)), ...more] };
}

/** Runs a schedule and checks it. A run that breaks off is a violation of its own. */
export async function tryOut(trial: Trial): Promise<Verdict> {
  try {
    return await tryWith(trial);
  } catch (thrown) {
    const { stack, message } = toError(thrown);
    return { run: undefined, violations: [{ rule: ends, detail: stack ?? message }] };
  } finally {
    takeAway([]);
  }
}

/** Runs what was drawn from a seed and checks it; what happened is added to `coverage`. */
export async function runDrawn(
  schedule: Schedule,
  coverage: Coverage,
  ablate?: AblatableRule,
): Promise<SeedResult> {
  const { seed } = schedule;
  const twice = seed % repeatEvery === 0 && ablate === undefined;
  const { run, violations } = await tryOut({ schedule, ablate, twice });
  if (run !== undefined) addCoverage(coverage, run.coverage);
  // Of drawn schedules only: one that was shrunk is a toy on purpose.
  const toy = run === undefined || ablate !== undefined ? [] : noToy(run);
  return {
    ...{ seed, violations: [...violations, ...toy] },
    ...{ records: run?.history.lines.length ?? 0, calmMs: run?.calmMs ?? 0 },
    isLong: schedule.calmAtMs !== schedulePlayed(seed).calmAtMs,
  };
}

/** What a person reads of a seed that failed. */
export function reportOf(
  { seed, violations, records, isLong }: SeedResult,
  ablate?: AblatableRule,
): string {
  const shown = violations.slice(0, 12).map(({ rule, detail }) => `  ${rule}:\n    ${detail}`);
  const more =
    violations.length > shown.length ? [`  and ${violations.length - shown.length} more`] : [];
  const without = ablate === undefined ? '' : ` --ablate ${ablate}`;
  const long = isLong ? ' --long' : '';
  const command = `npm run simulate -- --seeds 1 --from ${seed}${long}${without}`;
  return [`seed ${seed} (${records} records): ${command}`, ...shown, ...more].join('\n');
}
