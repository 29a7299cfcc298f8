/** The model gateway's fold: of a session, and of a budget log. */

import type { PinnedCatalog } from '../../schemas/definitions/catalog.ts';
import { bodyOf, type SeenEvent } from '../../schemas/event.ts';
import { resumesAttempts } from '../chassis/catalog/agent-form.ts';
import { taskOfPlan } from '../chassis/catalog/child-task.ts';
import { endedBecause, foldEnded } from '../chassis/effects/ended-work.ts';
import { type Members, memberOf, withMember, withoutMember } from '../chassis/effects/member.ts';
import { agentRulesOf } from './agent-rules.ts';
import { changedAsides, foldDelegated, foldEndedTask, foldSetAside } from './asides.ts';
import { abandonedNanoUsd } from './budget.ts';
import { claim, failTry, request, reserve, settle, spend, wait } from './calls-fold.ts';
import { evolveChildren } from './children.ts';
import {
  afterSession,
  completed,
  dropped,
  withHandedOn,
  withoutHandedOn,
} from './conversations.ts';
import { foldLedger } from './ledger.ts';
import { type ModelCallEntry, type ModelGatewayState, usualLane } from './state.ts';
import { foldTranches } from './tranche.ts';

/** Calls that nobody claimed are forgotten; the others are marked and wait for their end. */
function cancel(
  state: ModelGatewayState,
  isMeant: (entry: ModelCallEntry) => boolean,
): ModelGatewayState {
  let { calls } = state;
  for (const [call, entry] of Object.entries(calls)) {
    if (entry.cancelled || !isMeant(entry)) continue;
    calls =
      entry.claims === 0
        ? withoutMember(calls, call)
        : withMember(calls, call, { ...entry, cancelled: true });
  }
  return calls === state.calls ? state : { ...state, calls };
}

function dropAgent(state: ModelGatewayState, agent: string): ModelGatewayState {
  const conversations = dropped(state, agent);
  const rest = conversations === state.conversations ? state : { ...state, conversations };
  return cancel(rest, (entry) => entry.agent === agent);
}

function foldEnding(state: ModelGatewayState, seen: SeenEvent): ModelGatewayState {
  const ended = foldEnded(state.ended, seen);
  if (ended === state.ended) return state;
  const { conversations: all } = state;
  const conversations = ended.session ? afterSession(all) : all;
  return cancel(
    { ...state, ended, conversations },
    (entry) => endedBecause(ended, entry.task, entry.taskAttempt) !== undefined,
  );
}

/** Undefined where no name stands for several models: states of before have none. */
function routesOf({ models }: PinnedCatalog): ModelGatewayState['routes'] {
  const lists = Object.entries(models).filter((one) => typeof one[1] !== 'string');
  return lists.length === 0 ? undefined : (Object.fromEntries(lists) as Members<readonly string[]>);
}

/** Undefined where no task has a budget of its own. */
function budgetedTasks(plan: PinnedCatalog['plan']): ModelGatewayState['tasks'] {
  const tasks = plan.tasks.flatMap(({ id, budgetNanoUsd }) =>
    budgetNanoUsd === undefined ? [] : [[id, { budgetNanoUsd, spentNanoUsd: 0 }] as const],
  );
  return tasks.length === 0 ? undefined : Object.fromEntries(tasks);
}

function withTranches(state: ModelGatewayState, seen: SeenEvent): ModelGatewayState {
  const { tranches = {} } = state;
  const next = foldTranches(tranches, seen);
  return next === tranches ? state : { ...state, tranches: next };
}

/** The same object when the event changes nothing. */
export function evolve(state: ModelGatewayState, seen: SeenEvent): ModelGatewayState {
  const ledger = foldLedger(state.ledger, seen);
  if (ledger !== undefined) return ledger === state.ledger ? state : { ...state, ledger };
  return evolveSession(state, seen);
}

function accept(state: ModelGatewayState, seen: SeenEvent<'plan.accepted'>): ModelGatewayState {
  const catalog = bodyOf(seen.content.catalog) as unknown as PinnedCatalog;
  const routes = routesOf(catalog);
  const tasks = budgetedTasks(catalog.plan);
  const resuming = Object.values(catalog.agents).filter(resumesAttempts);
  const agentRules = agentRulesOf(catalog);
  return {
    ...{ ...state, tools: catalog.tools },
    ...(routes === undefined ? {} : { routes }),
    ...(tasks === undefined ? {} : { tasks }),
    ...(resuming.length === 0 ? {} : { resuming: resuming.map(({ name }) => name) }),
    ...(agentRules === undefined ? {} : { agentRules }),
  };
}

/** What it cost counts for the session and its task. */
function onChild(
  state: ModelGatewayState,
  seen: Parameters<typeof evolveChildren>[1],
): ModelGatewayState {
  const next = evolveChildren(state, seen);
  if (seen.type !== 'child.ended') return next;
  const child = memberOf(state.children ?? {}, seen.data.child);
  const { spentNanoUsd = child?.heldNanoUsd ?? seen.data.costNanoUsd } = seen.data;
  return spend(next, child, spentNanoUsd);
}

/** A person allowed more: what the goal and the task may cost grows; a budget that nobody set stays away. */
function raise(state: ModelGatewayState, { data }: SeenEvent<'budget.raised'>): ModelGatewayState {
  const { budgetNanoUsd, tasks = {} } = state;
  const owner = taskOfPlan(data.task);
  const task = memberOf(tasks, owner);
  const raised = task && { ...task, budgetNanoUsd: task.budgetNanoUsd + data.byNanoUsd };
  const { asides } = state;
  if (budgetNanoUsd === null && (raised ?? asides) === undefined) return state;
  return {
    ...state,
    budgetNanoUsd: budgetNanoUsd === null ? null : budgetNanoUsd + data.byNanoUsd,
    ...(raised === undefined ? {} : { tasks: withMember(tasks, owner, raised) }),
    ...(asides === undefined
      ? {}
      : { asides: changedAsides(asides, data.task, { raisedNanoUsd: data.byNanoUsd }) }),
  };
}

/** Tasks that come in have budgets too; those that stay keep what they spent. */
function revise(state: ModelGatewayState, seen: SeenEvent<'plan.revised'>): ModelGatewayState {
  const plan = bodyOf(seen.content.plan) as unknown as PinnedCatalog['plan'];
  const tasks = { ...budgetedTasks(plan), ...state.tasks };
  return Object.keys(tasks).length === 0 ? state : { ...state, tasks };
}

function settleShare(state: ModelGatewayState): ModelGatewayState {
  const { share } = state;
  if (share === undefined || share.settled === true) return state;
  return { ...state, share: { ...share, settled: true } };
}

function openSession(
  state: ModelGatewayState,
  { data }: SeenEvent<'session.opened'>,
): ModelGatewayState {
  const { budgetNanoUsd = null, lane, parent } = data;
  if (parent !== undefined && budgetNanoUsd !== null)
    return { ...state, budgetNanoUsd, share: {}, ...(lane === usualLane ? {} : { lane }) };
  if (lane !== usualLane) return { ...state, budgetNanoUsd, lane };
  return budgetNanoUsd === state.budgetNanoUsd ? state : { ...state, budgetNanoUsd };
}

function evolveSession(state: ModelGatewayState, seen: SeenEvent): ModelGatewayState {
  switch (seen.type) {
    case 'session.opened':
      return openSession(state, seen);
    case 'plan.accepted':
      return accept(state, seen);
    case 'plan.revised':
      return revise(state, seen);
    case 'model.requested':
      return request(state, seen);
    case 'model.claimed':
      return claim(state, seen);
    case 'budget.reserved':
      return reserve(state, seen);
    case 'model.completed':
    case 'model.failed':
      return settle(state, seen);
    case 'model.attempt-failed':
      return failTry(state, seen);
    case 'timer.set':
    case 'timer.cancelled':
    case 'timer.fired':
      return wait(state, seen);
    case 'model.denied': {
      const { call } = seen.data;
      const calls = withoutMember(state.calls, call);
      if (calls === state.calls) return state;
      const abandoned = abandonedNanoUsd(state, call);
      return { ...spend(state, memberOf(state.calls, call), abandoned), calls };
    }
    case 'budget.raised':
      return raise(state, seen);
    case 'budget.requested':
    case 'budget.granted':
    case 'budget.refused':
    case 'budget.returned':
      return withTranches(state, seen);
    case 'child.requested':
    case 'budget.allotted':
    case 'child.opened':
    case 'child.cancelled':
    case 'child.ended':
      return onChild(state, seen);
    case 'budget.settled':
      return settleShare(state);
    case 'delivery.refused':
      return evolveChildren(withTranches(state, seen), seen);
    case 'agent.completed': {
      const conversations = completed(state.conversations, seen.data.agent);
      return conversations === state.conversations ? state : { ...state, conversations };
    }
    case 'agent.cancelled':
      return cancel(state, (entry) => entry.agent === seen.data.agent);
    case 'agent.cleaned-up':
      return dropAgent(state, seen.data.agent);
    default:
      return foldWork(state, seen);
  }
}

/** Delegated work, and what ends. */
function foldWork(state: ModelGatewayState, seen: SeenEvent): ModelGatewayState {
  if (seen.type === 'task.delegated') return foldDelegated(withHandedOn(state, seen), seen);
  if (seen.type === 'budget.set-aside') return foldSetAside(state, seen);
  return foldEnding(foldEndedTask(withoutHandedOn(state, seen), seen), seen);
}
