import type { JsonObject } from '../../../schemas/json.ts';
import type { Dice } from './dice.ts';

/** Goals, repeats and cancels of one run, as other systems would publish them. */
export type GoalToSend = Readonly<{
  atMs: number;
  goalId: string;
  kind: 'goal' | 'repeat' | 'signal' | 'cancel' | 'cancel-first';
  value: JsonObject;
}>;

const kinds: readonly ((dice: Dice) => JsonObject)[] = [
  () => ({ plan: 'storm' }),
  (dice) => ({ plan: 'count', inputs: { counter: 'c', waitMs: dice.between(0, 1_500) } }),
  () => ({ plan: 'flaky', inputs: { name: 'thing' } }),
  () => ({ plan: 'ask', inputs: { question: 'What is new?' } }),
  () => ({ plan: 'hurry', inputs: { waitMs: 4_000 } }),
  (dice) => ({ plan: 'echo', inputs: { said: `said ${dice.between(0, 9)}` } }),
  // More than a record holds: its contents go to the blob store.
  (dice) => ({ plan: 'echo', inputs: { said: `${dice.between(0, 9)}`.repeat(33_000) } }),
  (dice) => ({ plan: 'storm', timeoutMs: dice.between(1_000, 9_000) }),
  () => ({ plan: 'patterns' }),
  (dice) => ({ plan: 'patterns', timeoutMs: dice.between(500, 6_000) }),
  () => ({ plan: 'no-such-plan' }),
  () => ({ plan: 'count' }),
  (dice) => ({ plan: 'ask', timeoutMs: dice.between(1, 900) }),
  () => ({ plan: 'storm', agentPools: ['analysis'] }),
  (dice) => ({ plan: 'storm', budgetNanoUsd: dice.pick([2_000, 2_500, 4_000, 7_000]) }),
];

function goalOf(dice: Dice, index: number): JsonObject {
  const shape = index === 0 ? { plan: 'storm' } : dice.pick(kinds)(dice);
  const key = dice.chance(0.4) ? { key: dice.pick(['red', 'red', 'blue']) } : {};
  const priority = dice.pick(['high', 'normal', 'normal', 'bulk']);
  return { id: `goal-${index}`, goal: `Goal ${index}.`, priority, ...shape, ...key };
}

/** Plans of which one goal takes more records than a handful of others. */
export const isHeavy = ({ plan }: JsonObject): boolean =>
  ['storm', 'patterns', 'wide'].includes(String(plan));

/** A goal that is soon done. */
export function lightGoal(dice: Dice, goalId: string): JsonObject {
  const shape = dice.pick([{ plan: 'flaky' }, { plan: 'ask' }, { plan: 'echo' }]);
  const inputs = { name: 'thing', question: 'What is new?', said: goalId };
  const key = dice.chance(0.4) ? { key: dice.pick(['red', 'blue']) } : {};
  return { id: goalId, goal: 'Light.', ...shape, inputs, ...key };
}

function repeatOf(dice: Dice, goal: JsonObject, atMs: number): GoalToSend {
  const value = dice.chance(0.5) ? goal : { ...goal, priority: 'bulk', goal: 'Said again.' };
  return { atMs, goalId: String(goal['id']), kind: 'repeat', value };
}

/** The plan whose agents ask people. */
export const askingPlan = 'asking';

/** The plan whose agents are healed, by people too. */
export const healingPlan = 'healing';

/** What cancels a goal, as other systems publish it. */
export const cancelValue = (goalId: string): JsonObject => ({
  cancel: goalId,
  source: 'world',
  reason: 'not needed any more',
});

function cancelOf(goal: JsonObject, atMs: number, kind: 'cancel' | 'cancel-first'): GoalToSend {
  const goalId = String(goal['id']);
  return { atMs, goalId, kind, value: cancelValue(goalId) };
}

/** Something that a loop of the plan waits for. */
function signalOf(goal: JsonObject, atMs: number): GoalToSend {
  const goalId = String(goal['id']);
  const value = { signal: goalId, source: 'world', name: 'go', payload: { atMs } };
  return { atMs, goalId, kind: 'signal', value };
}

function around(dice: Dice, goal: JsonObject, at: { atMs: number; untilMs: number }): GoalToSend[] {
  const { atMs, untilMs } = at;
  const sent: GoalToSend[] = [{ atMs, goalId: String(goal['id']), kind: 'goal', value: goal }];
  if (dice.chance(0.3)) sent.push(repeatOf(dice, goal, atMs + dice.between(0, 50)));
  if (dice.chance(0.4)) sent.push(repeatOf(dice, goal, dice.between(atMs, untilMs + 1_900)));
  for (let left = goal['plan'] === 'patterns' ? 3 : 0; left > 0; left--)
    sent.push(signalOf(goal, atMs + dice.between(1, 4_000)));
  if (dice.chance(0.25)) sent.push(cancelOf(goal, atMs + dice.between(1, 4_000), 'cancel'));
  // A plan that is rejected and a cancel meet only in a moment.
  const isRejected = goal['agentPools'] !== undefined;
  if (isRejected) sent.push(cancelOf(goal, atMs + dice.between(0, 40), 'cancel'));
  if (dice.chance(isRejected ? 0.4 : 0.06)) {
    const beforeMs = Math.max(0, atMs - dice.between(1, 500));
    sent.push(cancelOf(goal, beforeMs, 'cancel-first'));
  }
  return sent;
}

export function goalsOf(dice: Dice, of: { count: number; untilMs: number }): GoalToSend[] {
  const goals = Array.from({ length: of.count }, (_, index) => goalOf(dice, index));
  return goals.flatMap((goal, index) => {
    const atMs = index === 0 ? dice.between(0, 400) : dice.between(0, of.untilMs);
    return around(dice, goal, { atMs, untilMs: of.untilMs });
  });
}
