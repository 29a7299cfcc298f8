import { describe, expect, test } from 'vitest';
import { ablations } from './ablations.ts';
import { checkSameLog } from './batch.ts';
import { checkRun } from './checkers/checkers.ts';
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
