/**
 * The supervisor's fold. What a session or a task may do next is said by their machines, not here.
 */

import type { PinnedCatalog } from '../../schemas/definitions/catalog.ts';
import type { PlanDefinition } from '../../schemas/definitions/plan.ts';
import { bodyOf, type SeenEvent, textOf } from '../../schemas/event.ts';
import { limits } from '../../schemas/limits.ts';
import type { Persisted } from '../../state-machines/fold.ts';
import { foldSession, sessionIsOver } from '../../state-machines/session/session-machine.ts';
import { goalScopeOf, withDefaults } from '../chassis/catalog/goal-scope.ts';
import type { PlanViolation } from '../chassis/catalog/plan-violation.ts';
import { recoveryPoliciesOf } from '../chassis/catalog/recovery-policy.ts';
import { pairedWith, withoutPair, withPair } from '../chassis/effects/sorted-pairs.ts';
import { addressOf } from '../chassis/protocol/service-logic.ts';
import { delegatingOf } from './delegation.ts';
import { evolveAsked } from './evolve-asked.ts';
import { evolveRevision } from './evolve-revision.ts';
import {
  evolveSessions,
  originOf,
  refusedChild,
  withCatalog,
  withoutCatalog,
} from './evolve-sessions.ts';
import { evolveWork, newTask } from './evolve-task.ts';
import { noLoop } from './loop.ts';
import { foldDenials, foldPermits, traitsOf } from './pool/permits.ts';
import { foldPoolLog } from './pool/pool-log.ts';
import { evolveQuestion } from './questions.ts';
import { replanOf } from './revise.ts';
import {
  isSettled,
  isWaiting,
  type StopReason,
  type SupervisorState,
  type TaskState,
} from './state.ts';
import { isOwnTimer, sessionTimer, timerOf } from './timers.ts';
import { foldWakes } from './wakes.ts';

/** The state after this event; the same object when it changes nothing. */
export function evolve(state: SupervisorState, event: SeenEvent): SupervisorState {
  const poolLog = foldPoolLog(state.poolLog, event);
  if (poolLog !== undefined) return poolLog === state.poolLog ? state : { ...state, poolLog };
  return evolveSession(withPermits(foldWakes(state, event), event), event);
}

function evolveSession(state: SupervisorState, event: SeenEvent): SupervisorState {
  const session = foldSession(state.session, event);
  return session === state.session ? onEvent(state, event) : onStep(state, session, event);
}

function withPermits(state: SupervisorState, event: SeenEvent): SupervisorState {
  const { permits = {} } = state;
  const next = foldPermits(permits, event);
  if (next === permits) return withDenials(state, event);
  const moved = withDenials({ ...state, permits: next }, event);
  // It has reached the log of the pool when its delivery is acknowledged.
  if (event.type !== 'permit.returned') return moved;
  return withLiving(moved, addressOf(event), event.service);
}

function withDenials(state: SupervisorState, event: SeenEvent): SupervisorState {
  const { denials = {} } = state;
  const next = foldDenials(denials, event);
  return next === denials ? state : { ...state, denials: next };
}

/** Events that move the session. */
function onStep(before: SupervisorState, session: Persisted, event: SeenEvent): SupervisorState {
  const state = { ...before, session };
  switch (event.type) {
    case 'session.opened': {
      const { openedAtMs, timeoutMs } = event.data;
      const timeoutAtMs = timeoutMs === undefined ? null : openedAtMs + timeoutMs;
      const goal = traitsOf(event);
      const told = goal === undefined ? {} : { goal };
      return { ...state, ...told, scope: goalScopeOf(event), timeoutAtMs, origin: originOf(event) };
    }
    case 'plan.accepted':
      return withPlan(state, event);
    case 'result.replaced':
      return { ...state, result: addressOf(event), replaced: true };
    case 'plan.rejected':
      // It went back to the model that made it.
      if (event.data.again === true) return state;
      return withStop(state, { as: 'failed', code: 'PLAN_REJECTED', message: rejection(event) });
    case 'result.published':
      return { ...state, result: addressOf(event) };
    case 'session.completed':
    case 'session.failed':
    case 'session.cancelled':
      return {
        ...withoutCatalog(state),
        scope: null,
        tasks: state.tasks.map((task) => ({ ...task, output: null })),
      };
    default:
      return state;
  }
}

function withPlan(state: SupervisorState, accepted: SeenEvent<'plan.accepted'>): SupervisorState {
  const plan = bodyOf(accepted.content.plan) as unknown as PlanDefinition;
  const scope = state.scope === null ? null : withDefaults(state.scope, plan);
  const catalog = bodyOf(accepted.content.catalog, {}) as unknown as Partial<PinnedCatalog>;
  const tasks = plan.tasks.map((task) => newTask(task, plan, catalog.agents ?? {}));
  const { limitedPools } = catalog;
  const limited = limitedPools === undefined ? {} : { limitedPools };
  const recoveries = recoveryPoliciesOf(catalog.agents ?? {});
  const healing = recoveries === undefined ? {} : { recoveries };
  const delegating = delegatingOf(state, plan, catalog.agents ?? {});
  const more = { ...limited, ...healing, ...delegating, ...replanOf(plan) };
  const next = { ...state, ...more, scope, plan: plan.name, tasks };
  return withCatalog(next, plan, catalog);
}

function rejection({ data, content }: SeenEvent<'plan.rejected'>): string {
  const violations = bodyOf(content.violations, []) as unknown as readonly PlanViolation[];
  const reasons = violations.map(({ reason, fix }) => `${reason} ${fix}`);
  return `The plan "${data.plan}" was rejected. ${reasons.join(' ')}`;
}

/** Events that leave the session where it is. */
function onEvent(state: SupervisorState, event: SeenEvent): SupervisorState {
  switch (event.type) {
    case 'session.cancel-requested': {
      const reason = event.content.reason === undefined ? null : textOf(event.content.reason);
      return withStop(state, { as: 'cancelled', requestedBy: event.data.requestedBy, reason });
    }
    case 'session.signalled':
      return withSignal(state, event);
    case 'decision.failed':
      return onDecisionFailed(state, event);
    case 'timer.set':
    case 'timer.cancelled':
    case 'timer.fired':
      return isOwnTimer(event.data.timer) ? onTimer(state, event) : state;
    case 'tool.requested':
    case 'tool.permitted':
    case 'tool.denied':
      return evolveAsked(state, event);
    case 'model.completed':
    case 'model.failed':
      return withSpending(state, event.data.costNanoUsd);
    case 'agent.created':
      return withLiving(state, event.data.agent, event.service);
    case 'agent.cleaned-up':
      return withLiving(state, event.data.agent, undefined);
    case 'person.asked':
    case 'person.escalated':
    case 'person.settled':
      // Who reads longrein.approvals hears of it first.
      return withLiving(evolveQuestion(state, event), addressOf(event), event.service);
    case 'person.answered':
    case 'person.answer-refused':
      return evolveQuestion(state, event);
    case 'sandbox.leased':
      return withLiving(state, event.data.sandbox, event.service);
    case 'sandbox.released':
      return withLiving(state, event.data.sandbox, undefined);
    case 'budget.requested':
      return withLiving(state, event.data.budgetLog, event.service);
    case 'budget.returned':
      return withReturn(state, event);
    case 'plan.revision-requested':
    case 'plan.revised':
    case 'plan.revision-refused':
      return evolveRevision(state, event);
    case 'child.requested':
    case 'budget.allotted':
    case 'child.opened':
    case 'child.cancelled':
    case 'child.ended':
    case 'session.child-cancel-requested':
      return evolveSessions(state, event);
    case 'delivery.acknowledged':
    case 'delivery.refused':
      return onDelivery(state, event);
    default:
      return evolveWork(state, event);
  }
}

/** It has reached the budget log when its delivery is acknowledged. */
function withReturn(state: SupervisorState, event: SeenEvent<'budget.returned'>): SupervisorState {
  const without = withLiving(state, event.data.budgetLog, undefined);
  return withLiving(without, addressOf(event), event.service);
}

/** A write to another log that somebody waits for, or the result, arrived or never will. */
function onDelivery(
  state: SupervisorState,
  event: SeenEvent<'delivery.acknowledged' | 'delivery.refused'>,
): SupervisorState {
  const address = addressOf(event.data);
  if (pairedWith(state.living, address) !== undefined) return withLiving(state, address, undefined);
  const isResult = address === state.result;
  if (event.type === 'delivery.refused') {
    if (state.sessions !== undefined && !isResult) return refusedChild(state, event);
    // Nothing is left to be tried: the log of the session says so, and nobody waits for it.
    if (state.replaced !== true) return state;
  }
  return state.delivered || !isResult ? state : { ...state, delivered: true };
}

/** It waits for the loops that listen to it; nobody else wants it. */
function withSignal(
  state: SupervisorState,
  { data, content }: SeenEvent<'session.signalled'>,
): SupervisorState {
  const listens = ({ definition, machine, loop }: TaskState): boolean =>
    definition.loop?.wake.signals?.includes(data.name) === true &&
    !isSettled({ machine }) &&
    (loop?.signals.length ?? 0) < limits.signalsWaitingMax;
  if (!state.tasks.some(listens)) return state;
  const signal = { name: data.name, payload: bodyOf(content.payload) };
  const tasks = state.tasks.map((task) => {
    if (!listens(task)) return task;
    const { loop = noLoop } = task;
    return { ...task, loop: { ...loop, signals: [...loop.signals, signal] } };
  });
  return { ...state, tasks };
}

/** Only a loop with a budget looks at it. */
function withSpending(state: SupervisorState, costNanoUsd: number): SupervisorState {
  const asked = state.tasks.some(
    ({ definition }) => definition.loop?.exit.budgetNanoUsd !== undefined,
  );
  if (!asked || costNanoUsd === 0) return state;
  return { ...state, spentNanoUsd: (state.spentNanoUsd ?? 0) + costNanoUsd };
}

function withStop(state: SupervisorState, stop: StopReason): SupervisorState {
  if (state.stop !== null || sessionIsOver(state.session)) return state;
  return { ...state, stop };
}

/** A service that failed decides no more: nobody would say that its agents and sandboxes are gone. */
function onDecisionFailed(
  state: SupervisorState,
  failed: SeenEvent<'decision.failed'>,
): SupervisorState {
  const { service, code } = failed.data;
  const said = textOf(failed.content.message);
  const message = `Service ${service} could not decide (${code}): ${said}`;
  const stopped = withStop(state, { as: 'failed', code: 'DECISION_FAILED', message });
  return withLetter(withoutLivingOf(stopped, service), failed);
}

function withoutLivingOf(state: SupervisorState, service: string): SupervisorState {
  const kept = state.living.filter(([, owner]) => owner !== service);
  return kept.length === state.living.length ? state : { ...state, living: kept };
}

/** Its dead letter has reached its topic when the delivery is acknowledged: the session stays open until then. */
function withLetter(state: SupervisorState, failed: SeenEvent<'decision.failed'>): SupervisorState {
  if (failed.data.origin === undefined) return state;
  return withLiving(state, addressOf(failed), failed.service);
}

function withLiving(
  state: SupervisorState,
  id: string,
  owner: string | undefined,
): SupervisorState {
  const living =
    owner === undefined ? withoutPair(state.living, id) : withPair(state.living, id, owner);
  return living === state.living ? state : { ...state, living };
}

type TimerEvent = SeenEvent<'timer.set' | 'timer.cancelled' | 'timer.fired'>;

function onTimer(state: SupervisorState, event: TimerEvent): SupervisorState {
  const { timer } = event.data;
  const known = pairedWith(state.timers, timer);
  if (event.type === 'timer.set') {
    const { dueAtMs } = event.data;
    return known === dueAtMs ? state : { ...state, timers: withPair(state.timers, timer, dueAtMs) };
  }
  if (known === undefined) return state;
  const unset = { ...state, timers: withoutPair(state.timers, timer) };
  if (event.type === 'timer.cancelled') return unset;
  return known === event.data.dueAtMs ? onFired(unset, event) : state;
}

function onFired(state: SupervisorState, event: SeenEvent<'timer.fired'>): SupervisorState {
  const { timer } = event.data;
  if (timer === sessionTimer) {
    const message = 'The session did not end within the time that its goal allows (timeoutMs).';
    return withStop(state, { as: 'failed', code: 'SESSION_TIMEOUT', message });
  }
  const fired = addressOf(event);
  const tasks = state.tasks.map((task) =>
    timerOf(task) === timer && !isWaiting(task) ? { ...task, fired } : task,
  );
  return { ...state, tasks };
}
