import { describe, expect, test } from 'vitest';
import { type AblatableRule, ablatableRules } from '../../services/chassis/ablation.ts';
import { tryOut } from './batch.ts';
import { pinnedPath } from './pin.ts';
import { simulatedRules } from './rules.ts';
import { readSchedule } from './schedule-file.ts';

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

async function expectShown(rule: AblatableRule): Promise<void> {
  const { violates, schedule } = readSchedule(pinnedPath(rule));
  const { seed, found } = await shownWithout(rule);
  expect(found, `npm run simulate -- --ablate ${rule} --pin`).toContain(violates);
  const kept = await tryOut({ schedule: { ...schedule, seed: seed ?? schedule.seed } });
  expect(kept.violations).toEqual([]);
}

/** A test for each rule of this half: two files of them run beside each other on two processors. */
export function testStored(half: 0 | 1): void {
  describe('a stored schedule breaks a rule that a checker knows when nobody keeps that', () => {
    for (const rule of simulatedRules.filter((_, index) => index % 2 === half))
      test(`${rule}: ${ablatableRules[rule]}`, () => expectShown(rule), 600_000);
  });
}
