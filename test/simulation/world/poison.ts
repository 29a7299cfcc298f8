import { goalLogId, sessionId } from '../../../services/chassis/protocol/ids.ts';
import type { AnyLogic } from '../../../services/chassis/protocol/service-logic.ts';
import { type Dice, diceOf } from './dice.ts';
import type { Action, Schedule } from './schedule-shape.ts';

/** Goals that kill whoever decides something in their sessions: one service each. */

/** Services that die of such a goal; each has something to answer in it. */
const mortal = [
  ...(['intake', 'planner', 'supervisor', 'aggregator', 'tool-guard', 'tool-runner'] as const),
  'worker-pool.test',
];

export const poisonKind = 'poison';

/** Session -> the service that cannot decide in it. */
export function poisonsOf({ actions }: Schedule): ReadonlyMap<string, string> {
  return new Map(
    actions.flatMap((action) =>
      action.do === 'send' && action.kills !== undefined
        ? [[logOf(action.goalId, action.kills), action.kills] as const]
        : [],
    ),
  );
}

/** Intake knows goals by logs of their own. */
function logOf(goalId: string, service: string): string {
  const session = sessionId('default', 'world', goalId);
  return service === 'intake' ? goalLogId(session) : session;
}

/** The same logic, in a process that ends when it decides what it cannot stand. */
export function dyingOf(
  logic: AnyLogic,
  poisons: ReadonlyMap<string, string>,
  die: () => void,
): AnyLogic {
  if (![...poisons.values()].includes(logic.name)) return logic;
  const decide: AnyLogic['decide'] = (state, input) => {
    const kills = poisons.get(input.session.session) === logic.name && input.causes.length > 0;
    if (!kills) return logic.decide(state, input);
    die();
    // Nothing of a dead process reaches anybody any more.
    throw new Error('dead');
  };
  return { ...logic, decide };
}

function poison(dice: Dice, calmAtMs: number): Action {
  const goalId = 'goal-poison';
  const value = {
    ...{ id: goalId, goal: 'Poison.', plan: 'count', priority: dice.pick(['normal', 'bulk']) },
    inputs: { counter: 'p', waitMs: dice.between(0, 300) },
  };
  const atMs = dice.between(0, calmAtMs - 2_000);
  return { atMs, do: 'send', value, goalId, kind: poisonKind, kills: dice.pick(mortal) };
}

/** Dice of their own: what is drawn elsewhere stays as it is. */
export function poisonings(seed: number, calmAtMs: number): Action[] {
  const dice = diceOf('poison', seed);
  return dice.chance(0.08) ? [poison(dice, calmAtMs)] : [];
}

/** How long whoever looks after processes takes to start one anew that has died. */
export const restartMs = (seed: number, count: number): number =>
  diceOf('restart', seed, String(count)).between(300, 3_000);
