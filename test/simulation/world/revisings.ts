import { diceOf } from './dice.ts';
import { cancelValue } from './goals.ts';
import type { Action } from './schedule-shape.ts';

/**
 * Goals whose plan is made anew where a task fails, by rules or by a model, and whose parts are told. Dice of their own:
 * what is drawn elsewhere stays as it is.
 */
export function revisings(seed: number, calmAtMs: number): Action[] {
  const dice = diceOf('revisings', seed);
  if (!dice.chance(0.25)) return [];
  return Array.from({ length: dice.between(1, 2) }, (_, index): Action[] => {
    const goalId = `goal-revising-${index}`;
    const limits = dice.chance(0.2) ? { timeoutMs: dice.between(500, 5_000) } : {};
    const plan = dice.pick(['revised', 'revised', 'thought-of']);
    const value = { id: goalId, goal: 'Revise.', plan, ...limits };
    const atMs = dice.between(0, calmAtMs - 2_000);
    const goal = { atMs, do: 'send', value, goalId, kind: 'goal' } as const;
    if (!dice.chance(0.2)) return [goal];
    const cancel = { do: 'send', value: cancelValue(goalId), goalId, kind: 'cancel' } as const;
    return [goal, { atMs: atMs + dice.between(1, 3_000), ...cancel }];
  }).flat();
}
