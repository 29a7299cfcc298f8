import { describe, expect, test } from 'vitest';
import { type AblatableRule, ablatableRules } from '../../services/chassis/ablation.ts';
import { ablations } from './ablations.ts';
import { checkSameLog, tryOut } from './batch.ts';
import { checkRun } from './checkers/checkers.ts';
import { pinnedPath } from './pin.ts';
import { simulatedRules } from './rules.ts';
import { readSchedule } from './schedule-file.ts';
import { runSchedule } from './world/run.ts';
import { scheduleOf } from './world/schedule.ts';
import type { Sabotage } from './world/world.ts';

/** A break need not show in every schedule; it must in one of the first. */
const seedsMax = 8;

async function rulesBroken(seed: number, sabotage: Sabotage): Promise<string[]> {
  const run = await runSchedule(scheduleOf(seed), sabotage);
  const found = [...(await checkRun(run)), ...(await checkSameLog(run, sabotage))];
  return [...new Set(found.map(({ rule }) => rule))];
}

describe('the checkers find', () => {
  for (const { name, rule, sabotage } of ablations) {
    test(name, async () => {
      const found = new Set<string>();
      for (let seed = 1; seed <= seedsMax && !found.has(rule); seed++)
        for (const broken of await rulesBroken(seed, sabotage)) found.add(broken);
      expect([...found]).toContain(rule);
    }, 120_000);
  }
});

/** All rules that are violated, with the first of the stored seeds that violates the one that it is kept for. */
async function violatedWithout(rule: AblatableRule): Promise<readonly string[]> {
  const { schedule, seeds, violates } = readSchedule(pinnedPath(rule));
  const found = new Set<string>();
  for (const seed of seeds) {
    const { violations } = await tryOut({ schedule: { ...schedule, seed }, ablate: rule });
    for (const one of violations) found.add(one.rule);
    if (found.has(violates ?? '')) break;
  }
  return [...found];
}

describe('a stored schedule breaks a rule that a checker knows when nobody keeps that', () => {
  for (const rule of simulatedRules) {
    test(`${rule}: ${ablatableRules[rule]}`, async () => {
      const { violates, schedule } = readSchedule(pinnedPath(rule));
      expect(await violatedWithout(rule), `npm run simulate -- --ablate ${rule} --pin`).toContain(
        violates,
      );
      expect((await tryOut({ schedule })).violations).toEqual([]);
    }, 60_000);
  }
});
