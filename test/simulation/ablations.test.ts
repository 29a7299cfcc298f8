import { describe, expect, test } from 'vitest';
import { type Ablation, ablations } from './ablations.ts';
import { checkSameLog, sameLog } from './batch.ts';
import { checkRun } from './checkers/checkers.ts';
import { runSchedule } from './world/run.ts';
import { scheduleOf } from './world/schedule.ts';
import type { Schedule } from './world/schedule-shape.ts';

/** A break need not show in every schedule; it must in one of the first. */
const seedsMax = 8;

const drawn = Array.from({ length: 100 }, (_, index) => scheduleOf(index + 1));

/** A run is made again only where that is what shows the break: it costs as much as the run. */
async function rulesBroken(schedule: Schedule, { rule, sabotage }: Ablation): Promise<string[]> {
  const run = await runSchedule(schedule, sabotage);
  const again = rule === sameLog ? await checkSameLog(run, sabotage) : [];
  return [...(await checkRun(run)), ...again].map((one) => one.rule);
}

describe('the checkers find', () => {
  for (const ablation of ablations) {
    const { name, rule, fits = () => true } = ablation;
    test(name, async () => {
      const found = new Set<string>();
      for (const schedule of drawn.filter(fits).slice(0, seedsMax)) {
        if (found.has(rule)) break;
        for (const broken of await rulesBroken(schedule, ablation)) found.add(broken);
      }
      expect([...found]).toContain(rule);
    }, 600_000);
  }
});
