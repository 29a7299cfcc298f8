/**
 * What the planner knows of one session, as plain JSON: the goal until there is a plan for it, then
 * nothing.
 */

import type { PinnedCatalog } from '../../schemas/definitions/catalog.ts';
import type { PlanDefinition } from '../../schemas/definitions/plan.ts';
import type { ToolDefinition } from '../../schemas/definitions/tool.ts';
import { bodyOf, type DataOf, type SeenEvent, textOf } from '../../schemas/event.ts';
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
  /** Until a planning model is asked, whose question says it from then on. */
  budgetNanoUsd?: number;
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
  /** What the goal may cost, where the first question said it. */
  budgetNanoUsd?: number;
}>;

export type PlannerState = Readonly<{
  session: Persisted;
  request: PlanRequest | null;
  /** Somebody asked for the end, or a service failed: no plan is needed any more. */
  stopping: boolean;
  planning?: PlanningState;
  /** Kept where the rest of the plan may be made anew. */
  revising?: Revising;
}>;

export type Revising = Readonly<{
  catalog: PinnedCatalog;
  request: PlanRequest;
  /** Ids of tasks that are gone: nothing else may be called so. */
  used?: readonly string[];
  /** What the supervisor asked for and has no answer to. The counts say what the model had been asked before. */
  asked?: Readonly<
    DataOf<'plan.revision-requested'> & {
      message: string;
      outputs: JsonObject;
      callsBefore: number;
      answersBefore: number;
    }
  >;
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

export const noPlanning: PlanningState = {
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
  if (event.type.startsWith('plan.rev')) return onRevision(state, event);
  if (event.type === 'task.abandoned') return withUsed(state, event.data.task);
  const stops = event.type === 'session.cancel-requested' || event.type === 'decision.failed';
  return stops && !state.stopping ? { ...state, stopping: true } : state;
}

/** The goal is needed until there is a plan, or none will come. */
function onStep(state: PlannerState, event: SeenEvent): PlannerState {
  if (event.type === 'session.opened') return { ...state, request: requestOf(event) };
  const { planning, ...rest } = state;
  if (event.type === 'plan.accepted') return withRevising(state, event);
  if (rest.revising !== undefined && event.type.startsWith('session.')) {
    const { revising: _over, ...ended } = rest;
    return { ...ended, request: null };
  }
  // What was proposed is accepted or rejected next.
  if (event.type === 'plan.proposed') return state;
  if (planning === undefined) return { ...rest, request: null };
  if (event.type !== 'plan.rejected' || event.data.again !== true)
    return { ...rest, request: null };
  const violations = bodyOf(event.content.violations, []) as unknown as readonly PlanViolation[];
  const { answer: _read, failure: _told, ...kept } = planning;
  return { ...state, planning: { ...kept, violations } };
}

/** The goal, and what was pinned for it, is needed while the rest of the plan may be made anew. */
function withRevising(state: PlannerState, { content }: SeenEvent<'plan.accepted'>): PlannerState {
  const { planning, request, ...rest } = state;
  const catalog = bodyOf(content.catalog) as unknown as PinnedCatalog;
  if (catalog.plan.replan === undefined || request === null) return { ...rest, request: null };
  const { catalog: _given, budgetNanoUsd: _said, ...asked } = request;
  const next = { ...rest, request: null, revising: { catalog, request: asked } };
  return planning === undefined ? next : { ...next, planning: withoutAnswer(planning) };
}

function withoutAnswer(planning: PlanningState): PlanningState {
  const { answer: _read, failure: _told, ...kept } = planning;
  return { ...kept, violations: [] };
}

/** What was given up stands for what was done under its id, also where the plan could do without it. */
function withUsed(state: PlannerState, task: string): PlannerState {
  const { revising } = state;
  if (!revising?.catalog.plan.tasks.some(({ id }) => id === task)) return state;
  return { ...state, revising: { ...revising, used: [...(revising.used ?? []), task] } };
}

function onRevision(state: PlannerState, event: SeenEvent): PlannerState {
  const { revising, planning } = state;
  if (revising === undefined) return state;
  switch (event.type) {
    case 'plan.revision-requested': {
      const { calls: callsBefore, answers: answersBefore } = planning ?? noPlanning;
      const message = textOf(event.content.message);
      const outputs = bodyOf(event.content.outputs, {}) as JsonObject;
      const asked = { ...event.data, message, outputs, callsBefore, answersBefore };
      return { ...state, revising: { ...revising, asked } };
    }
    case 'plan.revised': {
      const plan = bodyOf(event.content.plan) as unknown as PlanDefinition;
      const { asked, catalog, used = [], ...kept } = revising;
      if (asked === undefined) return state;
      const next = { ...kept, used: [...used, asked.task], catalog: { ...catalog, plan } };
      return answeredRevision({ ...state, revising: next });
    }
    case 'plan.revision-refused': {
      if (event.data.again === true && planning !== undefined) {
        const violations = bodyOf(event.content.violations, []) as unknown as PlanViolation[];
        return { ...state, planning: { ...withoutAnswer(planning), violations } };
      }
      const { asked: _answered, ...kept } = revising;
      return answeredRevision({ ...state, revising: kept });
    }
    default:
      return state;
  }
}

function answeredRevision(state: PlannerState): PlannerState {
  const { planning } = state;
  return planning === undefined ? state : { ...state, planning: withoutAnswer(planning) };
}

/** What ends a call; others tell how it goes. */
const settling: ReadonlySet<string> = new Set(['model.completed', 'model.failed', 'model.denied']);

function onModel(state: PlannerState, event: SeenEvent): PlannerState {
  const { planning = noPlanning } = state;
  if (event.type === 'model.requested') {
    if (event.data.agent !== plannerAgent) return state;
    const { answer: _read, failure: _told, ...kept } = planning;
    const next = { ...kept, open: event.data.call, calls: planning.calls + 1 };
    return asking({ ...state, planning: { ...next, ...budgetSaid(event) } });
  }
  if (!('call' in event.data) || event.data.call !== planning.open) return state;
  if (!settling.has(event.type)) return state;
  return { ...state, planning: answered({ ...planning, open: null }, event) };
}

/** The goal's budget, of a question that says it: the first one, in plans of form 2. */
function budgetSaid({
  content,
}: SeenEvent<'model.requested'>): Pick<PlanningState, 'budgetNanoUsd'> {
  const input = content.input === undefined ? null : bodyOf(content.input);
  if (typeof input !== 'object' || input === null || !('budgetNanoUsd' in input)) return {};
  return { budgetNanoUsd: Number(input.budgetNanoUsd) };
}

/** From here on the state is the one that it was before goals' budgets were looked at, but for what the question said. */
function asking(state: PlannerState): PlannerState {
  if (state.request?.budgetNanoUsd === undefined) return state;
  const { budgetNanoUsd: _said, ...request } = state.request;
  return { ...state, request };
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
  const { plan, agentPools, riskMax, budgetNanoUsd } = opened.data;
  const { goal, inputs, context } = goalScopeOf(opened);
  return {
    plan: plan ?? defaultPlan,
    inputs,
    goal,
    context,
    agentPools: agentPools ?? null,
    riskMax: riskMax ?? null,
    ...(budgetNanoUsd === undefined ? {} : { budgetNanoUsd }),
    ...(opened.content.catalog === undefined
      ? {}
      : { catalog: bodyOf(opened.content.catalog) as unknown as PinnedCatalog }),
  };
}
