import { describe, expect, test } from 'vitest';
import { type AblatableRule, ablatableRules } from '../../services/chassis/ablation.ts';
import { ablations } from './ablations.ts';
import { checkSameLog, tryOut } from './batch.ts';
import { checkRun } from './checkers/checkers.ts';
import { pinnedPath } from './pin.ts';
import { simulatedRules } from './rules.ts';
import { readSchedule } from './schedule-file.ts';
import { runSchedule } from './world/run.ts';
import { type Schedule, scheduleOf } from './world/schedule.ts';
import type { Sabotage } from './world/world.ts';

/** A break need not show in every schedule; it must in one of the first. */
const seedsMax = 8;

const drawn = Array.from({ length: 100 }, (_, index) => scheduleOf(index + 1));

async function rulesBroken(schedule: Schedule, sabotage: Sabotage): Promise<string[]> {
  const run = await runSchedule(schedule, sabotage);
  const found = [...(await checkRun(run)), ...(await checkSameLog(run, sabotage))];
  return [...new Set(found.map(({ rule }) => rule))];
}

describe('the checkers find', () => {
  for (const { name, rule, sabotage, fits = () => true } of ablations) {
    test(name, async () => {
      const found = new Set<string>();
      for (const schedule of drawn.filter(fits).slice(0, seedsMax)) {
        if (found.has(rule)) break;
        for (const broken of await rulesBroken(schedule, sabotage)) found.add(broken);
      }
      expect([...found]).toContain(rule);
    }, 600_000);
  }
});

/** What a schedule leaves open is drawn anew with these when a change of the code has moved the stored seeds. */
const moreSeeds = 40;

type Shown = Readonly<{ seed: number | undefined; found: readonly string[] }>;

/** The first seed with which the schedule violates what it is kept for, and all that was violated until then. */
async function shownWithout(rule: AblatableRule): Promise<Shown> {
  const { schedule, seeds, violates } = readSchedule(pinnedPath(rule));
  const found = new Set<string>();
  const more = Array.from({ length: moreSeeds }, (_, index) => index + 1);
  for (const seed of new Set([...seeds, ...more])) {
    const { violations } = await tryOut({ schedule: { ...schedule, seed }, ablate: rule });
    for (const one of violations) found.add(one.rule);
    if (found.has(violates ?? '')) return { seed, found: [...found] };
  }
  return { seed: undefined, found: [...found] };
}

describe('a stored schedule breaks a rule that a checker knows when nobody keeps that', () => {
  for (const rule of simulatedRules) {
    test(`${rule}: ${ablatableRules[rule]}`, async () => {
      const { violates, schedule } = readSchedule(pinnedPath(rule));
      const { seed, found } = await shownWithout(rule);
      expect(found, `npm run simulate -- --ablate ${rule} --pin`).toContain(violates);
      const kept = await tryOut({ schedule: { ...schedule, seed: seed ?? schedule.seed } });
      expect(kept.violations).toEqual([]);
    }, 600_000);
  }
});
