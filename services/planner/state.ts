/**
 * What the planner knows of one session, as plain JSON: the goal until there is a plan for it, then
 * nothing.
 */

import type { PinnedCatalog } from '../../schemas/definitions/catalog.ts';
import type { ToolDefinition } from '../../schemas/definitions/tool.ts';
import { bodyOf, type SeenEvent, textOf } from '../../schemas/event.ts';
import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import type { Persisted } from '../../state-machines/fold.ts';
import { foldSession, sessionFold } from '../../state-machines/session/session-machine.ts';
import { goalScopeOf } from '../chassis/catalog/goal-scope.ts';
import type { PlanViolation } from '../chassis/catalog/plan-violation.ts';

/** What a goal says of the plan that may serve it. Null where it says nothing. */
export type PlanRequest = Readonly<{
  plan: string;
  inputs: JsonObject;
  /** For a planning model; a plan that is written needs neither. */
  goal?: JsonValue;
  context?: JsonValue;
  agentPools: readonly string[] | null;
  riskMax: ToolDefinition['risk'] | null;
  /** Of a child session: the plan came with its opening, and its parent answers for it. */
  catalog?: PinnedCatalog;
}>;

/** A planning model that was asked. */
export type PlanningState = Readonly<{
  /** How often it was asked, which makes the ids of calls; and how many answers it gave. */
  calls: number;
  answers: number;
  /** The call without an answer. */
  open: string | null;
  answer?: string;
  failure?: Readonly<{ code: string; message: string; retryable: boolean }>;
  /** What was wrong with the last answer: it goes back. */
  violations: readonly PlanViolation[];
  costNanoUsd: number;
}>;

export type PlannerState = Readonly<{
  session: Persisted;
  request: PlanRequest | null;
  /** Somebody asked for the end, or a service failed: no plan is needed any more. */
  stopping: boolean;
  planning?: PlanningState;
}>;

export const initialState: PlannerState = {
  session: sessionFold.initial(),
  request: null,
  stopping: false,
};

/** The plan of a goal that names none. */
export const defaultPlan = 'default';

/** The name of the plan that this session waits for, or undefined if it needs none (any more). */
export function needsPlan(state: PlannerState): string | undefined {
  if (state.stopping || !['opened', 'rejected'].includes(state.session.value)) return undefined;
  return state.request?.plan;
}

/** What the planner's own model calls are told from those of agents by. */
export const plannerAgent = 'planner';

const noPlanning: PlanningState = {
  calls: 0,
  answers: 0,
  open: null,
  violations: [],
  costNanoUsd: 0,
};

/** The state after this event; the same object when it changes nothing. */
export function evolve(state: PlannerState, event: SeenEvent): PlannerState {
  const session = foldSession(state.session, event);
  if (session !== state.session) return onStep({ ...state, session }, event);
  if (event.type.startsWith('model.')) return onModel(state, event);
  const stops = event.type === 'session.cancel-requested' || event.type === 'decision.failed';
  return stops && !state.stopping ? { ...state, stopping: true } : state;
}

/** The goal is needed until there is a plan, or none will come. */
function onStep(state: PlannerState, event: SeenEvent): PlannerState {
  if (event.type === 'session.opened') return { ...state, request: requestOf(event) };
  const { planning, ...rest } = state;
  if (planning === undefined) return { ...rest, request: null };
  if (event.type === 'plan.proposed') return state;
  if (event.type !== 'plan.rejected' || event.data.again !== true)
    return { ...rest, request: null };
  const violations = bodyOf(event.content.violations, []) as unknown as readonly PlanViolation[];
  const { answer: _read, failure: _told, ...kept } = planning;
  return { ...state, planning: { ...kept, violations } };
}

/** What ends a call; others tell how it goes. */
const settling: ReadonlySet<string> = new Set(['model.completed', 'model.failed', 'model.denied']);

function onModel(state: PlannerState, event: SeenEvent): PlannerState {
  const { planning = noPlanning } = state;
  if (event.type === 'model.requested') {
    if (event.data.agent !== plannerAgent) return state;
    const { answer: _read, failure: _told, ...kept } = planning;
    const next = { ...kept, open: event.data.call, calls: planning.calls + 1 };
    return { ...state, planning: next };
  }
  if (!('call' in event.data) || event.data.call !== planning.open) return state;
  if (!settling.has(event.type)) return state;
  return { ...state, planning: answered({ ...planning, open: null }, event) };
}

function answered(planning: PlanningState, event: SeenEvent): PlanningState {
  if (event.type === 'model.completed') {
    const message = bodyOf(event.content.message);
    const text = typeof message === 'object' && message !== null && 'text' in message;
    const answer = text ? String(message.text) : textOf(event.content.message);
    const costNanoUsd = planning.costNanoUsd + event.data.costNanoUsd;
    return { ...planning, answer, answers: planning.answers + 1, costNanoUsd };
  }
  if (event.type !== 'model.failed' && event.type !== 'model.denied') return planning;
  const retryable = event.type === 'model.failed' && event.data.retryable;
  const cost = event.type === 'model.failed' ? event.data.costNanoUsd : 0;
  const failure = { code: event.data.code, message: textOf(event.content.message), retryable };
  return { ...planning, failure, costNanoUsd: planning.costNanoUsd + cost };
}

function requestOf(opened: SeenEvent<'session.opened'>): PlanRequest {
  const { plan, agentPools, riskMax } = opened.data;
  const { goal, inputs, context } = goalScopeOf(opened);
  return {
    plan: plan ?? defaultPlan,
    inputs,
    goal,
    context,
    agentPools: agentPools ?? null,
    riskMax: riskMax ?? null,
    ...(opened.content.catalog === undefined
      ? {}
      : { catalog: bodyOf(opened.content.catalog) as unknown as PinnedCatalog }),
  };
}
