/**
 * What the planner knows of one session, as plain JSON: the goal until there is a plan for it, then
 * nothing.
 */

import type { ToolDefinition } from '../../schemas/definitions/tool.ts';
import type { SeenEvent } from '../../schemas/event.ts';
import type { JsonObject } from '../../schemas/json.ts';
import type { Persisted } from '../../state-machines/fold.ts';
import { foldSession, sessionFold } from '../../state-machines/session/session-machine.ts';
import { goalScopeOf } from '../chassis/catalog/goal-scope.ts';

/** What a goal says of the plan that may serve it. Null where it says nothing. */
export type PlanRequest = Readonly<{
  plan: string;
  inputs: JsonObject;
  agentPools: readonly string[] | null;
  riskMax: ToolDefinition['risk'] | null;
}>;

export type PlannerState = Readonly<{
  session: Persisted;
  request: PlanRequest | null;
  /** Somebody asked for the end, or a service failed: no plan is needed any more. */
  stopping: boolean;
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
  if (state.session.value !== 'opened' || state.stopping) return undefined;
  return state.request?.plan;
}

/** The state after this event; the same object when it changes nothing. */
export function evolve(state: PlannerState, event: SeenEvent): PlannerState {
  const session = foldSession(state.session, event);
  if (session !== state.session) {
    const request = event.type === 'session.opened' ? requestOf(event) : null;
    return { ...state, session, request };
  }
  const stops = event.type === 'session.cancel-requested' || event.type === 'decision.failed';
  return stops && !state.stopping ? { ...state, stopping: true } : state;
}

function requestOf(opened: SeenEvent<'session.opened'>): PlanRequest {
  const { plan, agentPools, riskMax } = opened.data;
  return {
    plan: plan ?? defaultPlan,
    inputs: goalScopeOf(opened).inputs,
    agentPools: agentPools ?? null,
    riskMax: riskMax ?? null,
  };
}
