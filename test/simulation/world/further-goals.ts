import { diceOf } from './dice.ts';
import { givings } from './givings.ts';
import { askingPlan } from './goals.ts';
import { healings } from './healings.ts';
import { revisings } from './revisings.ts';
import type { Action } from './schedule-shape.ts';
import { settlings } from './settlings.ts';
import { wakings } from './wakings.ts';

/** A goal whose agents ask people (operator.ts). */
function askings(seed: number, calmAtMs: number): Action[] {
  const dice = diceOf('askings', seed);
  if (!dice.chance(0.5)) return [];
  return Array.from({ length: dice.between(1, 2) }, (_, index): Action => {
    const goalId = `goal-asking-${index}`;
    const budget = dice.chance(0.4) ? { budgetNanoUsd: dice.pick([1_500, 2_500, 4_000]) } : {};
    const value = { id: goalId, goal: 'Ask.', plan: askingPlan, ...budget };
    return { atMs: dice.between(0, calmAtMs - 2_000), do: 'send', value, goalId, kind: 'goal' };
  });
}

/** Goals that some seeds have beside the others, each kind from dice of its own: what is drawn elsewhere stays as it is. */
export const furtherGoals = (seed: number, calmAtMs: number): readonly Action[] => [
  ...askings(seed, calmAtMs),
  ...givings(seed, calmAtMs),
  ...settlings(seed, calmAtMs),
  ...revisings(seed, calmAtMs),
  ...healings(seed, calmAtMs),
  ...wakings(seed, calmAtMs),
];
