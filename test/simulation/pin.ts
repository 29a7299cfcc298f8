import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AblatableRule } from '../../services/chassis/ablation.ts';
import { packageRoot } from '../../services/chassis/config/package-root.ts';
import { tryOut } from './batch.ts';
import type { Violation } from './checkers/violation.ts';
import { smallest } from './failure.ts';
import { type StoredSchedule, writtenSchedule } from './schedule-file.ts';
import { type Schedule, scheduleOf } from './world/schedule.ts';

/**
 * Stores, for a rule, a small schedule in which its absence shows: CI runs it, so that nobody takes from the checkers
 * what finds it. What a schedule leaves open is drawn from seeds; several that show it are kept, so that a change of
 * the code that moves one of them does not at once need a new schedule.
 */

export const pinnedPath = (rule: AblatableRule): string =>
  join(packageRoot, 'test', 'simulation', 'pinned', `${rule}.json`);

const seedsTried = 6;
const seedsKept = 3;
/** Fewer, and the schedule was shrunk too far: it shows the violation by chance. */
const seedsLeast = 2;

type Found = Readonly<{ schedule: Schedule; violations: readonly Violation[]; seed: number }>;

async function firstFailing(
  rule: AblatableRule,
  range: { from: number; seeds: number },
): Promise<Found | undefined> {
  for (let seed = range.from; seed < range.from + range.seeds; seed++) {
    const schedule = scheduleOf(seed);
    const { violations } = await tryOut({ schedule, ablate: rule });
    if (violations.length > 0) return { schedule, violations, seed };
  }
  return undefined;
}

/** Seeds with which the schedule breaks what it is kept for, and nothing while the rule is there. */
async function showing(
  rule: AblatableRule,
  violates: string,
  schedule: Schedule,
): Promise<readonly number[]> {
  const seeds: number[] = [];
  for (let more = 0; more < seedsTried && seeds.length < seedsKept; more++) {
    const seed = schedule.seed + more;
    const { violations } = await tryOut({ schedule: { ...schedule, seed }, ablate: rule });
    if (!violations.some((one) => one.rule === violates)) continue;
    const { violations: anyway } = await tryOut({ schedule: { ...schedule, seed } });
    if (anyway.length === 0) seeds.push(seed);
  }
  return seeds;
}

async function stored(rule: AblatableRule, found: Found): Promise<StoredSchedule> {
  const violates = found.violations[0]?.rule ?? '';
  const { schedule } = await smallest(
    { ...found, ablate: rule },
    { runsMax: 40, timeMsMax: 30_000 },
  );
  const small = await showing(rule, violates, schedule);
  if (small.length >= seedsLeast) return { rule, violates, seeds: small, schedule };
  const whole = await showing(rule, violates, found.schedule);
  const better = whole.length > small.length;
  return {
    ...{ rule, violates, seeds: better ? whole : small },
    schedule: better ? found.schedule : schedule,
  };
}

/** Searches, shrinks and stores. Answers a line for people. */
export async function pin(
  rule: AblatableRule,
  range: { from: number; seeds: number },
): Promise<string> {
  const found = await firstFailing(rule, range);
  if (found === undefined) return `${rule}: nothing found in ${range.seeds} seeds`;
  const pinned = await stored(rule, found);
  const path = pinnedPath(rule);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, writtenSchedule(pinned));
  const { actions } = pinned.schedule;
  const size = `${actions.length} actions, seeds ${pinned.seeds.join(', ')}`;
  return `${rule}: seed ${found.seed} (number ${found.seed - range.from + 1}); ${size}; ${pinned.violates}`;
}
