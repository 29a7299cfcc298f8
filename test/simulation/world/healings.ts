import { diceOf } from './dice.ts';
import { cancelValue, healingPlan } from './goals.ts';
import type { Action } from './schedule-shape.ts';

/**
 * Goals whose agents fail and are healed, in pools and of templates that have breakers; what two of them do counts
 * together. Dice of their own: what is drawn elsewhere stays as it is.
 */
export function healings(seed: number, calmAtMs: number): Action[] {
  const dice = diceOf('healings', seed);
  if (!dice.chance(0.2)) return [];
  let atMs = dice.between(0, calmAtMs - 2_000);
  return Array.from({ length: 2 }, (_, index): Action[] => {
    const goalId = `goal-healing-${index}`;
    const limits = dice.chance(0.15) ? { timeoutMs: dice.between(500, 5_000) } : {};
    // The first mostly shows that the pool does not work, and the second that it works again.
    const waitMs = dice.pick([0, 1_500, 1_500]);
    const inputs = { waitMs: index === 0 ? waitMs : 0 };
    const value = { id: goalId, goal: 'Heal.', plan: healingPlan, inputs, ...limits };
    const goal = { atMs, do: 'send', value, goalId, kind: 'goal' } as const;
    const cancelAtMs = atMs + dice.between(1, 4_000);
    atMs = Math.min(calmAtMs - 1, atMs + dice.between(0, 3_000));
    if (!dice.chance(0.2)) return [goal];
    const cancel = { do: 'send', value: cancelValue(goalId), goalId, kind: 'cancel' } as const;
    return [goal, { atMs: cancelAtMs, ...cancel }];
  }).flat();
}
