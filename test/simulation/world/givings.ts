import { diceOf } from './dice.ts';
import { cancelValue } from './goals.ts';
import type { Action } from './schedule-shape.ts';

/** The plan whose agents give work to others. */
const givingPlan = 'giving';

/** A goal whose agents give work to others. Dice of their own: what is drawn elsewhere stays as it is. */
export function givings(seed: number, calmAtMs: number): Action[] {
  const dice = diceOf('givings', seed);
  if (!dice.chance(0.4)) return [];
  const goalId = 'goal-giving';
  const limits = dice.pick([
    {},
    { budgetNanoUsd: dice.pick([2_500, 9_000]) },
    { timeoutMs: dice.between(1_000, 9_000) },
  ]);
  const value = { id: goalId, goal: 'Give.', plan: givingPlan, ...limits };
  const atMs = dice.between(0, calmAtMs - 2_000);
  const goal = { atMs, do: 'send', value, goalId, kind: 'goal' } as const;
  if (!dice.chance(0.3)) return [goal];
  const cancel = { do: 'send', value: cancelValue(goalId), goalId, kind: 'cancel' } as const;
  return [goal, { atMs: atMs + dice.between(1, 4_000), ...cancel }];
}
