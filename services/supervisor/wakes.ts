/**
 * Goals of the session's key that wake a loop (`wake.goalsOfKey`). The key log sends them here in place of giving them
 * their turn; pure.
 *
 * W1 The key log is told when the loop begins (`wake.opened`), and when it has ended (`wake.closed`).
 * W2 Every goal that came is settled once: an iteration has seen it, or it goes back to be a goal of its own.
 * W3 The session stays open until the key log has said how many it has sent, all of them came or were withdrawn, and each
 *    has heard what became of it. So none is lost, however the end of the loop and a goal meet.
 */

import type { PlanDefinition } from '../../schemas/definitions/plan.ts';
import { bodyOf, event, type SeenEvent } from '../../schemas/event.ts';
import type { JsonObject } from '../../schemas/json.ts';
import { limits } from '../../schemas/limits.ts';
import { keysTopic } from '../../schemas/topics.ts';
import { sessionIsOver } from '../../state-machines/session/session-machine.ts';
import { keyLogId } from '../chassis/protocol/ids.ts';
import type { Proposal } from '../chassis/protocol/proposal.ts';
import { addressOf, type Delivery, type SessionMeta } from '../chassis/protocol/service-logic.ts';
import {
  isRunning,
  isSettled,
  type SupervisorState,
  type TaskState,
  type Wake,
  type Wakes,
} from './state.ts';

const listens = ({ loop }: PlanDefinition['tasks'][number]): boolean =>
  loop?.wake.goalsOfKey === true;

function planned(state: SupervisorState, seen: SeenEvent<'plan.accepted'>): Wakes | undefined {
  const { origin, goal } = state;
  const plan = bodyOf(seen.content.plan) as unknown as PlanDefinition;
  if (origin === undefined || goal?.key === undefined || !plan.tasks.some(listens))
    return undefined;
  const { goalLog, lane } = origin;
  const counts = { expected: 0, arrived: 0, came: 0, waiting: [], unsent: [] };
  return { phase: 'unasked', key: goal.key, goalLog, lane, ...counts };
}

function came(wakes: Wakes, { data, content }: SeenEvent<'session.woken'>): Wakes {
  const { goalId, goalLog } = data;
  const { goal, inputs, context } = content;
  const wake: Wake = {
    ...{ ordinal: wakes.came + 1, goalId, goalLog, goal: bodyOf(goal) },
    ...{ inputs: bodyOf(inputs, {}), context: bodyOf(context, {}) },
  };
  const { arrived, waiting } = wakes;
  return { ...wakes, came: wake.ordinal, arrived: arrived + 1, waiting: [...waiting, wake] };
}

/** Who sent them waits for the session that was forked, not for the fork; and nobody sends it more. */
function forked(wakes: Wakes): Wakes {
  const waiting = wakes.waiting.map(({ goalLog: _its, ...wake }) => wake);
  return { ...wakes, phase: 'counted', expected: wakes.arrived, waiting, unsent: [] };
}

function withoutUnsent(wakes: Wakes, address: string): Wakes {
  if (!wakes.unsent.includes(address)) return wakes;
  return { ...wakes, unsent: wakes.unsent.filter((one) => one !== address) };
}

/** Where the key log can never be told, it can never answer either. */
function refused(wakes: Wakes, address: string): Wakes {
  const next = withoutUnsent(wakes, address);
  if (next === wakes || wakes.phase !== 'closing') return next;
  return { ...next, phase: 'counted', expected: wakes.arrived };
}

function next(wakes: Wakes, seen: SeenEvent): Wakes {
  const sent = (): readonly string[] => [...wakes.unsent, addressOf(seen)];
  switch (seen.type) {
    case 'session.forked':
      return forked(wakes);
    case 'wake.opened':
      return { ...wakes, phase: 'open', unsent: sent() };
    case 'wake.closed':
      return { ...wakes, phase: 'closing', unsent: sent() };
    case 'wake.counted':
      return { ...wakes, phase: 'counted', expected: seen.data.diverted };
    case 'session.woken':
      return came(wakes, seen);
    case 'wake.withdrawn':
      return { ...wakes, arrived: wakes.arrived + 1 };
    case 'wake.settled': {
      const waiting = wakes.waiting.filter(({ ordinal }) => ordinal !== seen.data.ordinal);
      return { ...wakes, waiting, ...(seen.data.goalLog && { unsent: sent() }) };
    }
    case 'delivery.acknowledged':
      return withoutUnsent(wakes, addressOf(seen.data));
    case 'delivery.refused':
      return refused(wakes, addressOf(seen.data));
    default:
      return wakes;
  }
}

/** The state with what the event says of such goals; the same object where it says nothing of them. */
export function foldWakes(state: SupervisorState, seen: SeenEvent): SupervisorState {
  if (seen.type === 'plan.accepted' && state.wakes === undefined) {
    const wakes = planned(state, seen);
    return wakes === undefined ? state : { ...state, wakes };
  }
  if (state.wakes === undefined) return state;
  const wakes = next(state.wakes, seen);
  return wakes === state.wakes ? state : { ...state, wakes };
}

/** A goal as an iteration sees it. */
const shown = ({ goalId, goal, inputs, context }: Wake): JsonObject => ({
  ...{ id: goalId, goal, inputs, context },
});

/** What wakes the loop now; the goal that opened the session is the first. Undefined where goals do not wake it. */
export function goalsFor(
  { wakes, scope }: SupervisorState,
  { definition: { loop }, loop: state }: TaskState,
): readonly JsonObject[] | undefined {
  if (loop?.wake.goalsOfKey !== true) return undefined;
  const first = (state?.iterations ?? 0) === 0 && scope !== null ? [{ id: null, ...scope }] : [];
  return [...first, ...(wakes?.waiting ?? []).map(shown)];
}

/** What waited has been seen by this iteration, in the turn that begins it. */
export function takeGoals(
  proposal: Proposal<SupervisorState>,
  task: string,
  iteration: number,
): void {
  for (const wake of proposal.state.wakes?.waiting ?? [])
    settle(proposal, wake, { outcome: 'taken', task, iteration });
}

type Settled = Readonly<{ outcome: 'taken' | 'returned'; task: string; iteration?: number }>;

function settle(
  proposal: Proposal<SupervisorState>,
  { ordinal, goalId, goalLog }: Wake,
  how: Settled,
): void {
  const of = goalLog === undefined ? {} : { goalLog };
  proposal.write(event('wake.settled', { ordinal, goalId, ...of, ...how }));
}

/** Tells the key log, and gives back what no iteration will see. */
export function settleWakes(
  proposal: Proposal<SupervisorState>,
  { tenant }: Pick<SessionMeta, 'tenant'>,
): void {
  const { state } = proposal;
  const { wakes } = state;
  if (wakes === undefined) return;
  const loop = state.tasks.find(({ definition }) => listens(definition));
  const task = loop?.definition.id ?? 'none';
  const isOver = sessionIsOver(state.session) || loop === undefined || isSettled(loop);
  const { key, goalLog, lane, phase } = wakes;
  const keyLog = keyLogId(tenant, key);
  const begins = phase === 'unasked' && isRunning(state) && loop?.machine.value === 'scheduled';
  if (begins && !isOver) proposal.write(event('wake.opened', { keyLog, goalLog, lane }));
  const unwanted = isOver ? wakes.waiting : wakes.waiting.slice(limits.signalsWaitingMax);
  for (const wake of unwanted) settle(proposal, wake, { outcome: 'returned', task });
  if (isOver && phase === 'open') proposal.write(event('wake.closed', { keyLog, lane }));
}

/** W3: whether the session may close as far as goals are concerned that came to wake it. */
export function wakesAreSettled({ wakes }: SupervisorState): boolean {
  if (wakes === undefined || wakes.phase === 'unasked') return true;
  const { phase, arrived, expected, waiting, unsent } = wakes;
  const all = phase === 'counted' && arrived >= expected;
  return all && waiting.length === 0 && unsent.length === 0;
}

const toKeys = (session: string, identity: string[], draft: ToKeys): Delivery => ({
  ...{ to: 'log', topic: keysTopic, session, identity, event: draft },
});

type ToKeys = Extract<Delivery, { to: 'log' }>['event'];

/** What the key log and the goals hear of it. */
export function wakeDeliveries(seen: SeenEvent, { session }: SessionMeta): readonly Delivery[] {
  switch (seen.type) {
    case 'wake.opened': {
      const { keyLog, goalLog, lane } = seen.data;
      return [
        toKeys(keyLog, ['watched', session], event('key.watched', { session, goalLog, lane })),
      ];
    }
    case 'wake.closed': {
      const { keyLog, lane } = seen.data;
      return [toKeys(keyLog, ['unwatched', session], event('key.unwatched', { session, lane }))];
    }
    case 'wake.settled': {
      const { goalLog, outcome, task, iteration } = seen.data;
      if (goalLog === undefined) return [];
      const data = { session, outcome, task, ...(iteration === undefined ? {} : { iteration }) };
      return [toKeys(goalLog, ['wake-settled', session], event('goal.wake-settled', data))];
    }
    default:
      return [];
  }
}
