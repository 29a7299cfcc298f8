/** The fold of child sessions: asked for, opened, told to end, ended; and what they report of their branches. */

import type { PinnedCatalog } from '../../schemas/definitions/catalog.ts';
import type { PlanDefinition } from '../../schemas/definitions/plan.ts';
import { bodyOf, type DataOf, type SeenEvent, textOf } from '../../schemas/event.ts';
import type { JsonValue } from '../../schemas/json.ts';
import { type Members, memberOf, withMember, withoutMember } from '../chassis/effects/member.ts';
import { addressOf } from '../chassis/protocol/service-logic.ts';
import { placesOfChild } from './spread.ts';
import type {
  BranchOutcome,
  ChildSession,
  Origin,
  SpreadState,
  SupervisorState,
  TaskState,
} from './state.ts';

type ChildEvent = SeenEvent<
  | 'child.requested'
  | 'budget.allotted'
  | 'child.opened'
  | 'child.cancelled'
  | 'child.ended'
  | 'session.child-cancel-requested'
>;

export function originOf({ data }: SeenEvent<'session.opened'>): Origin {
  const { goalLog, lane, priority, agentPools, riskMax, budgetNanoUsd } = data;
  return {
    ...{ goalLog, lane, priority, budgeted: budgetNanoUsd !== undefined },
    ...(agentPools === undefined ? {} : { agentPools }),
    ...(riskMax === undefined ? {} : { riskMax }),
  };
}

/** What children are opened with is kept where there may be some. */
export function withCatalog(
  { origin, ...state }: SupervisorState,
  plan: PlanDefinition,
  { agents = {}, tools = {}, models = {} }: Partial<PinnedCatalog>,
): SupervisorState {
  const spreads =
    plan.replan !== undefined || plan.tasks.some(({ fanOut }) => fanOut?.spread !== undefined);
  if (!spreads || origin === undefined) return state;
  return { ...state, origin, planVersion: plan.version, catalog: { agents, tools, models } };
}

/** No child is opened any more. */
export function withoutCatalog({ catalog: _used, ...state }: SupervisorState): SupervisorState {
  return state;
}

const withSessions = (
  state: SupervisorState,
  sessions: Members<ChildSession>,
): SupervisorState => ({ ...state, sessions });

/** The state after an event about a child session; the same object where it changes nothing. */
export function evolveSessions(state: SupervisorState, event: ChildEvent): SupervisorState {
  const { sessions = {} } = state;
  const { child } = event.data;
  const known = memberOf(sessions, child);
  switch (event.type) {
    case 'child.requested':
      return known === undefined ? begun(state, event.data, { phase: 'requested' }) : state;
    case 'budget.allotted': {
      if (known?.phase !== 'requested') return state;
      const budgetNanoUsd = event.data.allottedNanoUsd;
      return withSessions(
        state,
        withMember(sessions, child, { ...known, phase: 'allotted', budgetNanoUsd }),
      );
    }
    case 'child.opened':
      return opened(state, event, known);
    case 'child.cancelled':
      if (known === undefined || known.phase === 'stopping') return state;
      if (!event.data.opened) return withSessions(state, withoutMember(sessions, child));
      return withoutWish(
        withSessions(state, withMember(sessions, child, { ...known, phase: 'stopping' })),
        child,
      );
    case 'child.ended':
      return ended(state, event);
    case 'session.child-cancel-requested':
      return unwanted(state, event);
  }
}

/** It counts while the child runs, or is about to. */
function unwanted(
  state: SupervisorState,
  { data, content }: SeenEvent<'session.child-cancel-requested'>,
): SupervisorState {
  const known = memberOf(state.sessions ?? {}, data.child);
  if (known === undefined || known.phase === 'stopping') return state;
  const { requestedBy } = data;
  const reason = textOf(content?.reason);
  const childCancels = withMember(state.childCancels ?? {}, data.child, { requestedBy, reason });
  return { ...state, childCancels };
}

function begun(
  state: SupervisorState,
  { task, ordinal, child }: Pick<DataOf<'child.opened'>, 'task' | 'ordinal' | 'child'>,
  how: Pick<ChildSession, 'phase' | 'address'>,
): SupervisorState {
  const next = withSessions(
    state,
    withMember(state.sessions ?? {}, child, { task, ordinal, ...how }),
  );
  return withSpread(next, task, (spread) => ({
    ...spread,
    begun: Math.max(spread.begun, ordinal),
  }));
}

function opened(
  state: SupervisorState,
  event: SeenEvent<'child.opened'>,
  known: ChildSession | undefined,
): SupervisorState {
  const how = { phase: 'open', address: addressOf(event) } as const;
  if (known === undefined) return begun(state, event.data, how);
  if (known.phase !== 'allotted') return state;
  const sessions = withMember(state.sessions ?? {}, event.data.child, { ...known, ...how });
  return withSessions(state, sessions);
}

/** Every effective end costs, one that comes late too. */
function ended(state: SupervisorState, event: SeenEvent<'child.ended'>): SupervisorState {
  const { child, costNanoUsd, code = 'CHILD_FAILED' } = event.data;
  const asked = state.tasks.some(({ definition }) => definition.loop?.exit.budgetNanoUsd);
  const paid =
    asked && costNanoUsd > 0
      ? { ...state, spentNanoUsd: (state.spentNanoUsd ?? 0) + costNanoUsd }
      : state;
  const known = memberOf(state.sessions ?? {}, child);
  if (known === undefined) return paid;
  const message = textOf(event.content.message);
  const report = event.data.status === 'completed' ? bodyOf(event.content.output) : null;
  return without(withoutWish(paid, child), child, known, { report, code, message });
}

function withoutWish(state: SupervisorState, child: string): SupervisorState {
  if (state.childCancels === undefined) return state;
  return { ...state, childCancels: withoutMember(state.childCancels, child) };
}

type Told = Readonly<{ report: JsonValue; code: string; message: string }>;

function without(
  state: SupervisorState,
  child: string,
  { task, ordinal }: ChildSession,
  told: Told,
): SupervisorState {
  const next = withSessions(state, withoutMember(state.sessions ?? {}, child));
  return withSpread(next, task, (spread, { fanOut, id }) => {
    const places = placesOfChild(spread, fanOut?.spread?.perSession ?? 1, ordinal);
    const outcomes = outcomesOf(told, id, places);
    return { ...spread, outcomes: { ...spread.outcomes, ...outcomes } };
  });
}

/** By place; all of them failed where the child has nothing to report. */
function outcomesOf(
  { report, code, message }: Told,
  task: string,
  places: readonly number[],
): Record<string, BranchOutcome> {
  const lists = report as Readonly<Record<string, JsonValue>> | null;
  const list = lists === null ? undefined : memberOf(lists, task);
  const failure = { failure: { code, class: 'crashed', message } } as const;
  const outcomes = places.map((place, at): [string, BranchOutcome] => [
    String(place),
    Array.isArray(list) ? ((list[at] ?? null) as BranchOutcome) : failure,
  ]);
  return Object.fromEntries(outcomes);
}

/** A child whose opening no broker takes never was. */
export function refusedChild(
  state: SupervisorState,
  { data, content }: SeenEvent<'delivery.refused'>,
): SupervisorState {
  const address = addressOf(data);
  const found = Object.entries(state.sessions ?? {}).find(([, one]) => one.address === address);
  if (found === undefined) return state;
  const [child, known] = found;
  const message = `Its child session could not be opened: ${textOf(content.message)}`;
  return without(state, child, known, { report: null, code: data.code, message });
}

type Changed = (spread: SpreadState, task: TaskState['definition']) => SpreadState;

function withSpread(state: SupervisorState, id: string, change: Changed): SupervisorState {
  const at = state.tasks.findIndex(({ definition }) => definition.id === id);
  const task = state.tasks[at];
  if (task?.spread === undefined) return state;
  const spread = change(task.spread, task.definition);
  return { ...state, tasks: state.tasks.with(at, { ...task, spread }) };
}

/** The task began; branches that have no input are lost. */
export function spreadAt(event: SeenEvent<'task.spread'>): SpreadState {
  const { branches, sessions } = event.data;
  const losses = bodyOf(event.content.losses, []) as unknown as readonly Loss[];
  const outcomes = losses.map(({ place, ...failure }) => [String(place), { failure }] as const);
  const lost = losses.map(({ place }) => place);
  return { branches, sessions, begun: 0, lost, outcomes: Object.fromEntries(outcomes) };
}

type Loss = Readonly<
  { place: number } & Extract<NonNullable<BranchOutcome>, { failure: unknown }>['failure']
>;
