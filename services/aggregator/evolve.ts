/** The aggregator's fold. Which ending counts is said by the session's machine, not here. */

import type { PinnedCatalog } from '../../schemas/definitions/catalog.ts';
import type { PlanDefinition } from '../../schemas/definitions/plan.ts';
import { bodyOf, type SeenEvent, textOf } from '../../schemas/event.ts';
import type { JsonValue } from '../../schemas/json.ts';
import type { Persisted } from '../../state-machines/fold.ts';
import {
  foldSession,
  resultIsOut,
  sessionIsOver,
} from '../../state-machines/session/session-machine.ts';
import { taskFold } from '../../state-machines/task/task-machine.ts';
import { goalScopeOf, withDefaults } from '../chassis/catalog/goal-scope.ts';
import { addressOf } from '../chassis/protocol/service-logic.ts';
import { onTask, withRevision } from './evolve-task.ts';
import type { Contradiction } from './join.ts';
import { arrived, noProgress, told, withoutParts } from './progress.ts';
import type { AggregatorState, Ending } from './state.ts';
import { withSynthesis } from './synthesis.ts';

/** The state after this event; the same object when it changes nothing. */
export function evolve(state: AggregatorState, event: SeenEvent): AggregatorState {
  const session = foldSession(state.session, event);
  return session === state.session ? onEvent(state, event) : onStep(state, session, event);
}

/** Events that move the session. */
function onStep(before: AggregatorState, session: Persisted, event: SeenEvent): AggregatorState {
  const state = { ...before, session };
  switch (event.type) {
    case 'session.opened': {
      const { goalId, goalLog, openedAtMs, valueNanoUsd, parent, budgetNanoUsd } = event.data;
      const goal = {
        ...{ goalId, goalLog, openedAtMs, valueNanoUsd: valueNanoUsd ?? null },
        ...(parent === undefined ? {} : { parent }),
        ...(parent === undefined || budgetNanoUsd === undefined ? {} : { share: {} }),
      };
      return { ...state, goal, scope: goalScopeOf(event) };
    }
    case 'plan.accepted':
      return withPlan(state, event);
    case 'session.completed':
    case 'session.failed':
    case 'session.cancelled':
      return {
        ...{ ...state, ...withoutParts(state), ending: endingOf(event) },
        ...{ tasks: [], scope: null, output: null },
      };
    case 'result.published':
      return { ...state, ending: null };
    default:
      return state;
  }
}

function withPlan(state: AggregatorState, accepted: SeenEvent<'plan.accepted'>): AggregatorState {
  const plan = bodyOf(accepted.content.plan) as unknown as PlanDefinition;
  const shaped = plan.output.shape !== undefined || plan.output.kind === 'synthesis';
  const { models } = bodyOf(accepted.content.catalog) as unknown as PinnedCatalog;
  return {
    ...state,
    plan: plan.name,
    output: plan.output,
    ...(plan.output.kind === 'synthesis' ? { models } : {}),
    ...(plan.progress === true && state.goal?.parent === undefined ? { progress: noProgress } : {}),
    scope: shaped && state.scope !== null ? withDefaults(state.scope, plan) : null,
    tasks: plan.tasks.map(({ id, onFailure }) => {
      return { id, onFailure, machine: taskFold.initial(), output: null };
    }),
  };
}

type EndingEvent = SeenEvent<'session.completed' | 'session.failed' | 'session.cancelled'>;

function endingOf(event: EndingEvent): Ending {
  if (event.type === 'session.completed') {
    const message = contradictionsMessage(bodyOf(event.content.contradictions, []));
    const output = bodyOf(event.content.output);
    const ending = { status: 'completed', code: null, task: null, message, output } as const;
    if (event.content.contradictions === undefined) return ending;
    return { ...ending, contradictions: bodyOf(event.content.contradictions) };
  }
  if (event.type === 'session.failed') {
    const { code, task } = event.data;
    const message = textOf(event.content.message);
    return { status: 'failed', code, task: task ?? null, message, output: null };
  }
  const reason = event.content.reason === undefined ? '' : `: ${textOf(event.content.reason)}`;
  const who = event.data.requestedBy === '' ? '' : ` by ${event.data.requestedBy}`;
  const message = `Cancelled${who}${reason}`;
  return { status: 'cancelled', code: 'SESSION_CANCELLED', task: null, message, output: null };
}

function contradictionsMessage(contradictions: JsonValue): string | null {
  const list = contradictions as unknown as readonly Contradiction[];
  if (list.length === 0) return null;
  const members = list.map(({ member }) => `"${member}"`).join(', ');
  return `The tasks contradict each other in ${members}; session.completed lists who said what.`;
}

/** It answers for itself: what the other session cost is not its cost. */
function forkedFrom(
  state: AggregatorState,
  { data }: SeenEvent<'session.forked'>,
): AggregatorState {
  const { of: forkOf, goalLog } = data;
  const own = goalLog === undefined ? {} : { goalLog };
  const goal = state.goal === null ? null : { ...state.goal, forkOf, ...own };
  return { ...state, goal, usage: { inputTokens: 0, outputTokens: 0, costNanoUsd: 0 } };
}

function stop(state: AggregatorState): AggregatorState {
  if (state.stopping || sessionIsOver(state.session)) return state;
  return { ...state, stopping: true };
}

function orphan(state: AggregatorState, failed: SeenEvent<'decision.failed'>): AggregatorState {
  const message = `The supervisor cannot decide: ${failed.data.code}: ${textOf(failed.content.message)}`;
  return lettered({ ...stop(state), orphaned: { message, resultDelivered: false } }, failed);
}

/** Whoever closes the session waits for the dead letters of those that failed. */
function lettered(state: AggregatorState, failed: SeenEvent<'decision.failed'>): AggregatorState {
  if (failed.data.origin === undefined) return state;
  return { ...state, letters: [...(state.letters ?? []), addressOf(failed)] };
}

type Closing = SeenEvent<'delivery.acknowledged' | 'delivery.refused'>;

const isLetter = ({ letters = [] }: AggregatorState, { data }: Closing): boolean =>
  letters.includes(addressOf(data));

function withoutLetter(state: AggregatorState, { data }: Closing): AggregatorState {
  return { ...state, letters: (state.letters ?? []).filter((one) => one !== addressOf(data)) };
}

/** Only the result is delivered by this service. */
function delivered(
  state: AggregatorState,
  { service }: SeenEvent<'delivery.acknowledged'>,
): AggregatorState {
  if (state.orphaned === undefined || service !== 'aggregator') return state;
  return { ...state, orphaned: { ...state.orphaned, resultDelivered: true } };
}

/** Only the result is delivered by this service. Where what replaced it is refused too, nothing is left to be tried. */
function refuse(
  state: AggregatorState,
  { service, data, content }: SeenEvent<'delivery.refused'>,
): AggregatorState {
  if (service !== 'aggregator') return state;
  if (state.refused === undefined) {
    return { ...state, refused: { code: data.code, message: textOf(content.message) } };
  }
  if (state.orphaned === undefined) return state;
  return { ...state, orphaned: { ...state.orphaned, resultDelivered: true } };
}

function onDelivery(state: AggregatorState, event: Closing): AggregatorState {
  if (event.type === 'delivery.refused' && event.service === 'supervisor')
    return refusedChild(state, event);
  if (isLetter(state, event)) return withoutLetter(state, event);
  return event.type === 'delivery.refused' ? refuse(state, event) : delivered(state, event);
}

/** Events that leave the session where it is. */
function onEvent(state: AggregatorState, event: SeenEvent): AggregatorState {
  switch (event.type) {
    case 'session.forked':
      return forkedFrom(state, event);
    case 'decision.failed':
      return event.data.service === 'supervisor'
        ? orphan(state, event)
        : lettered(stop(withoutShare(state, event.data.service)), event);
    case 'delivery.acknowledged':
    case 'delivery.refused':
      return arrived(state, event) ?? onDelivery(state, event);
    case 'progress.published':
      return told(state, event);
    case 'plan.revised':
      return withRevision(state, event);
    case 'budget.settled':
      return withShare(state, event.data);
    case 'child.opened':
      return withChild(state, event.data.child, addressOf(event));
    case 'child.ended':
      return withUsage(withoutChild(state, event.data.child), event);
    case 'session.cancel-requested':
      return stop(state);
    case 'model.completed':
    case 'model.failed':
    case 'model.attempt-failed':
      return withUsage(withSynthesis(state, event), event);
    case 'model.requested':
    case 'model.denied':
      return withSynthesis(state, event);
    default:
      return onTask(state, event);
  }
}

function withShare(
  state: AggregatorState,
  share: NonNullable<NonNullable<AggregatorState['goal']>['share']>,
): AggregatorState {
  if (state.goal?.share === undefined) return state;
  return { ...state, goal: { ...state.goal, share } };
}

/** A gateway that failed says nothing any more: the parent counts the whole share as spent. */
function withoutShare(state: AggregatorState, service: string): AggregatorState {
  if (service !== 'model-gateway' || state.goal?.share === undefined) return state;
  const { share: _unknown, ...goal } = state.goal;
  return { ...state, goal };
}

function withChild(state: AggregatorState, child: string, address: string): AggregatorState {
  return { ...state, children: { ...state.children, [child]: address } };
}

function withoutChild(state: AggregatorState, child: string): AggregatorState {
  if (state.children === undefined || !Object.hasOwn(state.children, child)) return state;
  const { [child]: _ended, ...children } = state.children;
  return { ...state, children };
}

/** A child whose opening no broker takes never was. */
function refusedChild(
  state: AggregatorState,
  { data }: SeenEvent<'delivery.refused'>,
): AggregatorState {
  const found = Object.entries(state.children ?? {}).find(([, one]) => one === addressOf(data));
  return found === undefined ? state : withoutChild(state, found[0]);
}

const isUnknownChild = ({ type, data }: SeenEvent): boolean =>
  type === 'child.ended' && data.costKnown === false;

function withUsage(
  state: AggregatorState,
  event: SeenEvent<'model.completed' | 'model.failed' | 'model.attempt-failed' | 'child.ended'>,
): AggregatorState {
  const { inputTokens, outputTokens, costNanoUsd } = event.data;
  const published = resultIsOut(state.session) || state.session.value === 'closed';
  const isUnknown = 'costIsLeast' in event.data || isUnknownChild(event);
  if (published || (inputTokens + outputTokens + costNanoUsd === 0 && !isUnknown)) return state;
  const usage = {
    inputTokens: state.usage.inputTokens + inputTokens,
    outputTokens: state.usage.outputTokens + outputTokens,
    costNanoUsd: state.usage.costNanoUsd + costNanoUsd,
    ...(isUnknown || state.usage.costKnown === false ? { costKnown: false as const } : {}),
  };
  return { ...state, usage };
}
