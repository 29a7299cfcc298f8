import type { JsonObject } from '../../../schemas/json.ts';
import { type Dice, diceOf } from './dice.ts';
import { cancelValue } from './goals.ts';
import type { Action } from './schedule-shape.ts';

const goalOf = (dice: Dice, goalId: string, key: string): JsonObject => {
  const inputs = { said: goalId };
  const waits = dice.chance(0.85) ? { debounceMs: dice.pick([30, 200, 800]) } : {};
  return { id: goalId, goal: 'Settle.', plan: 'echo', inputs, key, ...waits };
};

/**
 * Goals of one key that stand for each other, with some that do not wait between them; some are sent again or cancelled
 * while they wait. Dice of their own: what is drawn elsewhere stays as it is.
 */
export function settlings(seed: number, calmAtMs: number): Action[] {
  const dice = diceOf('settlings', seed);
  if (!dice.chance(0.25)) return [];
  const key = dice.pick(['settled', 'red']);
  let atMs = dice.between(0, calmAtMs - 2_000);
  return Array.from({ length: dice.between(3, 5) }, (_, index): Action[] => {
    const goalId = `goal-settling-${index}`;
    const sent = { do: 'send', goalId, value: goalOf(dice, goalId, key) } as const;
    const goal = { atMs, ...sent, kind: 'goal' };
    const cancelAtMs = atMs + dice.pick([dice.between(0, 40), dice.between(20, 900)]);
    const cancel = { do: 'send', goalId, value: cancelValue(goalId), kind: 'cancel' } as const;
    const again = { atMs: cancelAtMs, ...sent, kind: 'repeat' };
    atMs += dice.pick([0, dice.between(1, 20), dice.between(20, 400)]);
    return [
      goal,
      ...(dice.chance(0.35) ? [{ atMs: cancelAtMs, ...cancel }] : []),
      ...(dice.chance(0.15) ? [again] : []),
    ];
  }).flat();
}
