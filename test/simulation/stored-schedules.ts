import { describe, expect, test } from 'vitest';
import { type AblatableRule, ablatableRules } from '../../services/chassis/ablation.ts';
import { tryOut } from './batch.ts';
import { pinnedPath } from './pin.ts';
import { simulatedRules } from './rules.ts';
import { readSchedule } from './schedule-file.ts';

type Shown = Readonly<{ seed: number; found: readonly string[] }>;

/** The first of its seeds with which the schedule violates what it is kept for, and all that was violated until then. */
async function shownWithout(rule: AblatableRule): Promise<Shown> {
  const { schedule, seeds, violates } = readSchedule(pinnedPath(rule));
  const found = new Set<string>();
  for (const seed of seeds) {
    const { violations } = await tryOut({ schedule: { ...schedule, seed }, ablate: rule });
    for (const one of violations) found.add(one.rule);
    if (found.has(violates ?? '')) return { seed, found: [...found] };
  }
  return { seed: schedule.seed, found: [...found] };
}

/** What a schedule leaves open is drawn from its seeds, and a change of the code may move them all. */
const hint = (rule: AblatableRule, violates = ''): string =>
  `no stored seed of ${rule} shows it any more; if the code has moved, and the checkers have not, store a new one: ` +
  `npm run simulate -- --ablate ${rule} --pin --violates "${violates}"`;

async function expectShown(rule: AblatableRule): Promise<void> {
  const { violates, schedule } = readSchedule(pinnedPath(rule));
  const { seed, found } = await shownWithout(rule);
  expect(found, hint(rule, violates)).toContain(violates);
  const kept = await tryOut({ schedule: { ...schedule, seed } });
  expect(kept.violations).toEqual([]);
}

/** A test for each rule of this half: two files of them run beside each other on two processors. */
export function testStored(half: 0 | 1): void {
  describe('a stored schedule breaks a rule that a checker knows when nobody keeps that', () => {
    for (const rule of simulatedRules.filter((_, index) => index % 2 === half))
      test(`${rule}: ${ablatableRules[rule]}`, () => expectShown(rule), 600_000);
  });
}
