/**
 * A fan-out that is too wide for one session: its branches run in child sessions, each with a log of its own, so that they
 * spread over partitions and hosts. The parent evaluates their inputs, opens the children, and joins what they report.
 *
 * X1 Which branch is whose follows from the number of branches alone: a child's ordinal names the same ones for ever.
 * X2 Where the goal or the task has a budget, a child is opened only once the gateway has put its share aside.
 * X3 A child that was opened counts until its end is in the log: the parent's result and its closing wait for it.
 */

import type { FanOut } from '../../schemas/definitions/plan.ts';
import { type DataOf, event, json, text } from '../../schemas/event.ts';
import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import { sortedEntries } from '../chassis/effects/member.ts';
import { LongreinError } from '../chassis/errors.ts';
import { sessionId } from '../chassis/protocol/ids.ts';
import type { Proposal } from '../chassis/protocol/proposal.ts';
import type { DecideInput } from '../chassis/protocol/service-logic.ts';
import { childCatalog, childPlanName } from './child-plan.ts';
import { type Branch, branchInput, branchScopes, verdictOn } from './fan-out.ts';
import { expressionFailure } from './scope.ts';
import {
  type ChildSession,
  findTask,
  type SpreadState,
  type SupervisorState,
  type TaskState,
} from './state.ts';

export type At = Pick<DecideInput, 'nowMs' | 'session'>;

/** Whether so many branches are too many for one session. */
export const isWide = ({ spread }: FanOut, branches: number): boolean =>
  spread !== undefined && branches > spread.above;

/** Of which child session a branch is none of: those without an input. */
const placesOf = ({ branches, lost }: SpreadState): readonly number[] => {
  const without = new Set(lost);
  return Array.from({ length: branches }, (_, place) => place).filter((one) => !without.has(one));
};

/** The places of a child's branches (X1). */
export function placesOfChild(
  spread: SpreadState,
  perSession: number,
  ordinal: number,
): readonly number[] {
  return placesOf(spread).slice((ordinal - 1) * perSession, ordinal * perSession);
}

/** Begins the task: which branches there are, and which of them have no input. */
export function beginSpread(
  proposal: Proposal<SupervisorState>,
  task: TaskState,
  { fanOut, scopes }: Readonly<{ fanOut: FanOut; scopes: readonly JsonObject[] }>,
): void {
  const losses = scopes.flatMap((scope, place) => {
    const input = branchInput(proposal.state, task.definition, scope, place);
    return input instanceof LongreinError ? [{ place, ...expressionFailure(input) }] : [];
  });
  const branches = scopes.length;
  const sessions = Math.ceil((branches - losses.length) / (fanOut.spread?.perSession ?? branches));
  const data = { task: task.definition.id, attempt: 1, branches, sessions };
  proposal.write(
    event('task.spread', data, losses.length === 0 ? {} : { losses: json(losses as JsonValue) }),
  );
}

/** What the branches come to; undefined while more is to be heard. */
export function settleSpread(
  proposal: Proposal<SupervisorState>,
  task: TaskState,
  { fanOut, at }: Readonly<{ fanOut: FanOut; at: At }>,
) {
  const { spread } = task;
  const scopes = branchScopes(proposal.state, task.definition, fanOut);
  if (spread === undefined || scopes instanceof LongreinError) return undefined;
  const branches: Branch[] = scopes.map((scope, place) => ({
    scope,
    outcome: spread.outcomes[String(place)],
  }));
  const verdict = verdictOn(proposal.state, { task, fanOut, branches });
  if (verdict === undefined) openMore(proposal, task.definition.id, { fanOut, scopes, at });
  return verdict;
}

type Opening = Readonly<{ fanOut: FanOut; scopes: readonly JsonObject[]; at: At }>;

/** How many children run at a time, and how many branches of each: never more than `parallelMax` together. */
export function parallelOf({ parallelMax }: FanOut, sessions: number) {
  const children = Math.max(1, Math.min(sessions, parallelMax));
  return { children, branches: Math.max(1, Math.floor(parallelMax / children)) };
}

const sessionsOf = (state: SupervisorState, task: string): readonly [string, ChildSession][] =>
  Object.entries(state.sessions ?? {})
    .filter(([, one]) => one.task === task)
    .sort(([, one], [, other]) => one.ordinal - other.ordinal);

function openMore(proposal: Proposal<SupervisorState>, task: string, of: Opening): void {
  for (const [, { phase, ordinal }] of sessionsOf(proposal.state, task)) {
    if (phase === 'allotted') openChild(proposal, task, { ...of, ordinal });
  }
  const { children } = parallelOf(of.fanOut, spreadOf(proposal, task)?.sessions ?? 0);
  for (;;) {
    const spread = spreadOf(proposal, task);
    if (spread === undefined || spread.begun >= spread.sessions) return;
    if (sessionsOf(proposal.state, task).length >= children) return;
    const ordinal = spread.begun + 1;
    if (isBudgeted(proposal.state, task)) {
      const child = childOf(of.at, task, ordinal);
      const sharers = spread.sessions - spread.begun;
      proposal.write(event('child.requested', { task, ordinal, child, sharers }));
    } else {
      openChild(proposal, task, { ...of, ordinal });
    }
  }
}

const spreadOf = ({ state }: Proposal<SupervisorState>, task: string): SpreadState | undefined =>
  findTask(state, task)?.spread;

const childOf = ({ session: { tenant, session } }: At, task: string, ordinal: number): string =>
  sessionId(tenant, session, `${task}/${ordinal}`);

const isBudgeted = (state: SupervisorState, task: string): boolean =>
  state.origin?.budgeted === true || findTask(state, task)?.definition.budgetNanoUsd !== undefined;

function openChild(
  proposal: Proposal<SupervisorState>,
  task: string,
  of: Opening & Readonly<{ ordinal: number }>,
): void {
  const { state } = proposal;
  const owner = findTask(state, task);
  const { fanOut, scopes, ordinal, at } = of;
  if (owner?.spread === undefined || state.origin === undefined) return;
  const places = placesOfChild(owner.spread, fanOut.spread?.perSession ?? 1, ordinal);
  const branches = places.map((place) => {
    const value = branchInput(state, owner.definition, scopes[place] ?? {}, place);
    return { place, value: value instanceof LongreinError ? null : value };
  });
  const child = childOf(at, task, ordinal);
  const data: DataOf<'child.opened'> = {
    ...{
      task,
      ordinal,
      child,
      goalId: `${task}/${ordinal}`,
      plan: childPlanName(state.plan, task),
    },
    ...{ first: places[0] ?? 0, count: places.length, openedAtMs: at.nowMs },
    ...originOf(state),
    ...limitsOf(state, child, at),
  };
  const { branches: parallelMax } = parallelOf(fanOut, owner.spread.sessions);
  const catalog = childCatalog(state, owner.definition, {
    ...{ fanOut, places, parallelMax, branches: owner.spread.branches },
  });
  proposal.write(
    event('child.opened', data, {
      goal: text(String(state.scope?.goal ?? '')),
      inputs: json({ branches }),
      catalog: json(catalog),
    }),
  );
}

function originOf({ origin }: SupervisorState) {
  const { goalLog = '', lane = '', priority = 'normal', agentPools, riskMax } = origin ?? {};
  return {
    ...{ goalLog, lane, priority },
    ...(agentPools === undefined ? {} : { agentPools }),
    ...(riskMax === undefined ? {} : { riskMax }),
  };
}

/** What is left of the time that the goal allows, and what was put aside of its budget. */
function limitsOf(state: SupervisorState, child: string, { nowMs }: At) {
  const { timeoutAtMs, sessions = {} } = state;
  const budgetNanoUsd = sessions[child]?.budgetNanoUsd;
  return {
    ...(timeoutAtMs === null ? {} : { timeoutMs: Math.max(1, timeoutAtMs - nowMs) }),
    ...(budgetNanoUsd === undefined ? {} : { budgetNanoUsd }),
  };
}

/** Tells those children to end that somebody has called off; what they were to give has failed then. */
export function cancelUnwanted(proposal: Proposal<SupervisorState>): void {
  const { sessions = {}, childCancels = {}, origin } = proposal.state;
  for (const [child, wish] of sortedEntries(childCancels)) {
    const known = sessions[child];
    if (known?.phase !== 'open') continue;
    const { requestedBy, reason } = wish;
    const data = { task: known.task, child, lane: origin?.lane ?? 'normal', opened: true };
    const told = { reason: text(reason) };
    proposal.write(event('child.cancelled', { ...data, requestedBy }, told));
  }
}

/** Tells child sessions to end; those of one task, or all. Who was only asked for is never opened. */
export function cancelChildren(
  state: SupervisorState,
  write: Proposal<SupervisorState>['write'],
  of: Readonly<{ task?: string; reason: string }>,
): void {
  const sorted = Object.entries(state.sessions ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [child, { task, phase }] of sorted) {
    if (phase === 'stopping' || (of.task !== undefined && of.task !== task)) continue;
    const lane = state.origin?.lane ?? 'normal';
    const data = { task, child, lane, opened: phase === 'open', requestedBy: 'parent' };
    write(event('child.cancelled', data, { reason: text(of.reason) }));
  }
}
