import { diceOf } from './dice.ts';
import { cancelValue } from './goals.ts';
import type { Action } from './schedule-shape.ts';

/**
 * Goals of one key whose loop the others wake: while an iteration runs, as the loop ends, and with cancels between them.
 * Dice of their own: what is drawn elsewhere stays as it is.
 */
export function wakings(seed: number, calmAtMs: number): Action[] {
  const dice = diceOf('wakings', seed);
  if (!dice.chance(0.25)) return [];
  let atMs = dice.between(0, calmAtMs - 3_000);
  return Array.from({ length: dice.between(3, 6) }, (_, index): Action[] => {
    const goalId = `goal-waking-${index}`;
    const waits = dice.chance(0.1) ? { debounceMs: 100 } : {};
    const plan = dice.chance(0.8) ? 'woken' : 'echo';
    const value = { id: goalId, goal: 'Wake.', plan, inputs: { said: goalId }, key: 'woken' };
    const send = { do: 'send', goalId } as const;
    const goal = { atMs, ...send, value: { ...value, ...waits }, kind: 'goal' };
    const cancelAtMs = atMs + dice.pick([dice.between(0, 40), dice.between(20, 1_500)]);
    const cancel = { atMs: cancelAtMs, ...send, value: cancelValue(goalId), kind: 'cancel' };
    atMs += dice.pick([dice.between(0, 20), dice.between(20, 400), dice.between(100, 1_200)]);
    return [goal, ...(dice.chance(0.25) ? [cancel] : [])];
  }).flat();
}
