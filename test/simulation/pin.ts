import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AblatableRule } from '../../services/chassis/ablation.ts';
import { packageRoot } from '../../services/chassis/config/package-root.ts';
import { tryOut } from './batch.ts';
import type { Violation } from './checkers/violation.ts';
import { smallest } from './failure.ts';
import { type StoredSchedule, writtenSchedule } from './schedule-file.ts';
import { schedulePlayed } from './world/brief.ts';
import type { Schedule } from './world/schedule-shape.ts';

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

/** `violates`: a part of the name of what must be found; empty: whatever is found first. */
export type PinSearch = Readonly<{ from: number; seeds: number; violates: string }>;

async function tried(
  rule: AblatableRule,
  seed: number,
  wanted: string,
): Promise<Found | undefined> {
  // Most are short, and what is short is shrunk soon.
  const schedule = schedulePlayed(seed);
  const { violations } = await tryOut({ schedule, ablate: rule });
  const matching = violations.filter((one) => one.rule.includes(wanted));
  return matching.length === 0 ? undefined : { schedule, violations: matching, seed };
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
    { runsMax: 120, timeMsMax: 60_000 },
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

type Pinned = Readonly<{ seed: number; stored: StoredSchedule }>;

/** The first that shows it with seeds enough, or the one that does so with most. */
async function bestOf(rule: AblatableRule, search: PinSearch): Promise<Pinned | undefined> {
  let best: Pinned | undefined;
  for (let seed = search.from; seed < search.from + search.seeds; seed++) {
    const found = await tried(rule, seed, search.violates);
    if (found === undefined) continue;
    const pinned = { seed, stored: await stored(rule, found) };
    if (pinned.stored.seeds.length > (best?.stored.seeds.length ?? 0)) best = pinned;
    if (pinned.stored.seeds.length >= seedsLeast) break;
  }
  return best;
}

/** Searches, shrinks and stores. Answers a line for people. */
export async function pin(rule: AblatableRule, search: PinSearch): Promise<string> {
  const best = await bestOf(rule, search);
  if (best === undefined) return `${rule}: nothing found in ${search.seeds} seeds`;
  const path = pinnedPath(rule);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, writtenSchedule(best.stored));
  const { schedule, seeds, violates } = best.stored;
  const size = `${schedule.actions.length} actions, seeds ${seeds.join(', ')}`;
  return `${rule}: seed ${best.seed} (number ${best.seed - search.from + 1}); ${size}; ${violates}`;
}
