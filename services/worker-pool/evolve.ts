/**
 * The fold of a worker pool. An answer counts once, and only while its agent waits for it: the
 * agent's machine says so, and what it refuses changes nothing.
 */

import type { AgentDefinition, ModelAgent } from '../../schemas/definitions/agent.ts';
import type { PinnedCatalog } from '../../schemas/definitions/catalog.ts';
import { bodyOf, type SeenEvent } from '../../schemas/event.ts';
import { agentFold } from '../../state-machines/agent/agent-machine.ts';
import { resumesAttempts } from '../chassis/catalog/agent-form.ts';
import { withDelegates, workersOfPlan } from '../chassis/catalog/plan-agents.ts';
import { foldEnded } from '../chassis/effects/ended-work.ts';
import { memberOf, withMember, withoutMember } from '../chassis/effects/member.ts';
import { type Change, changed, moved, withAgent } from './agent-change.ts';
import {
  begun,
  delegated,
  endedTask,
  paidDelegate,
  settledDelegation,
  withoutDelegations,
} from './evolve-delegation.ts';
import { askedModel, completedModel, failedModel } from './evolve-model.ts';
import {
  answeredPerson,
  askedPerson,
  escalatedPerson,
  raisedBudget,
  settledPerson,
} from './evolve-person.ts';
import { cancelledTimer, firedTimer, setTimer } from './evolve-timer.ts';
import { askedTool, endedTool, startedTool } from './evolve-tool.ts';
import { askedServer, checksOf, isProvisioning, toldServer } from './provisioning.ts';
import { recoveryIn } from './recovery.ts';
import { forgetAllEarlier, forgetEarlier, resumed, withoutAgent } from './resume.ts';
import { type AgentEntry, agentId, type PoolState } from './state.ts';

/** Only what this pool's tasks name: the state stays small. */
function pin(state: PoolState, seen: SeenEvent<'plan.accepted'>, pool: string): PoolState {
  const catalog = bodyOf(seen.content.catalog) as unknown as PinnedCatalog;
  // Those of branches and reviewers, and those that a plan may be given later, stand in the plan alone.
  const all = [...seen.data.tasks, ...workersOfPlan(catalog.plan)];
  const workers = all.filter((one) => one.pool === pool);
  // Who is given work works in the pool of who gives it.
  const names = withDelegates(
    workers.map(({ agent }) => agent),
    catalog.agents,
  );
  const definitions = Object.fromEntries(
    Object.entries(catalog.agents).filter(([name]) => names.includes(name)),
  );
  return { ...state, definitions, models: catalog.models, ...checksOf(definitions, catalog) };
}

function schedule(state: PoolState, seen: SeenEvent<'task.scheduled'>, pool: string): PoolState {
  const { task, attempt, agent: name } = seen.data;
  if (seen.data.pool !== pool || (memberOf(state.attempts, task) ?? 0) >= attempt) return state;
  const fresh = begun(state, { task, attempt, name, input: bodyOf(seen.content.input) });
  const entry = { ...fresh, ...recoveryIn(seen) };
  return {
    ...state,
    agents: withMember(state.agents, agentId(task, attempt), entry),
    attempts: withMember(state.attempts, task, attempt),
  };
}

function created(state: PoolState, { data }: SeenEvent<'agent.created'>): PoolState {
  const { agent, task, resumes } = data;
  const entry = memberOf(state.agents, agent);
  if (entry === undefined || entry.machine !== undefined) return state;
  const machine = agentFold.initial();
  const goesOn = resumes === undefined ? undefined : resumed(state, entry);
  if (goesOn === undefined) return withAgent(state, agent, { ...entry, machine });
  const open = Object.entries(state.open).filter(([, owner]) => owner !== resumes);
  const rest = forgetEarlier({ ...state, open: Object.fromEntries(open) }, task);
  return withAgent(rest, agent, { ...goesOn, machine });
}

const definitionOf = (state: PoolState, agent: string | undefined): AgentDefinition | undefined => {
  const name = agent === undefined ? undefined : memberOf(state.agents, agent)?.name;
  return name === undefined ? undefined : memberOf(state.definitions, name);
};

const modelAgentOf = (state: PoolState, agent: string | undefined): ModelAgent | undefined => {
  const definition = definitionOf(state, agent);
  return definition?.kind === 'model' ? definition : undefined;
};

/** Whether loops of the agent's calls are looked for. */
const watches = (state: PoolState, agent: string): boolean =>
  modelAgentOf(state, agent)?.repeatsMax !== undefined;

/** A call that the agent waits for from now on. */
function requested(
  state: PoolState,
  seen: SeenEvent<'tool.requested' | 'model.requested'>,
): PoolState {
  const { call, agent } = seen.data;
  const definition = modelAgentOf(state, agent);
  const change = (entry: AgentEntry) => {
    if (seen.type === 'model.requested') return askedModel(entry, definition, seen);
    if (isProvisioning(entry)) return askedServer(entry, seen);
    return askedTool(entry, definition?.repeatsMax !== undefined, seen);
  };
  const next = moved(state, agent, { seen, change });
  return next === state ? state : { ...next, open: withMember(next.open, call, agent) };
}

/** An answer to an open call: takes it off the list, and gives it to its agent. */
function answered(
  state: PoolState,
  call: string,
  step: { seen: SeenEvent; change: Change },
): PoolState {
  const agent = memberOf(state.open, call);
  if (agent === undefined) return state;
  const settled = { ...state, open: withoutMember(state.open, call) };
  if (memberOf(state.agents, agent) === undefined)
    return changedEarlier(settled, agent, step.change);
  return moved(settled, agent, step);
}

/** What becomes known of a call of an attempt that is over. */
function changedEarlier(state: PoolState, agent: string, change: Change): PoolState {
  const { earlier = {} } = state;
  const found = Object.entries(earlier).find(
    ([task, { attempt }]) => agentId(task, attempt) === agent,
  );
  if (found === undefined) return state;
  const [task, entry] = found;
  return { ...state, earlier: withMember(earlier, task, { ...entry, ...change(entry) }) };
}

/** How far a call has come, for agents whose attempts are resumed. */
function started(state: PoolState, seen: SeenEvent<'tool.permitted' | 'tool.claimed'>): PoolState {
  const agent = memberOf(state.open, seen.data.call);
  if (agent === undefined) return state;
  const entry = memberOf(state.agents, agent);
  const change = (one: AgentEntry) => startedTool(one, seen);
  if (entry === undefined) return changedEarlier(state, agent, change);
  if (!resumesAttempts(memberOf(state.definitions, entry.name))) return state;
  return withAgent(state, agent, { ...entry, ...change(entry) });
}

function asked(state: PoolState, seen: SeenEvent<'person.asked'>): PoolState {
  const { question, agent } = seen.data;
  const next = moved(state, agent, { seen, change: (entry) => askedPerson(entry, seen) });
  return next === state ? state : { ...next, open: withMember(next.open, question, agent) };
}

function raised(state: PoolState, { data }: SeenEvent<'budget.raised'>): PoolState {
  const entry = memberOf(state.agents, data.agent);
  if (entry === undefined) return state;
  return withAgent(state, data.agent, { ...entry, ...raisedBudget(entry, data.byNanoUsd) });
}

function foldQuestion(
  state: PoolState,
  seen: SeenEvent<'person.asked' | 'person.answered' | 'person.escalated' | 'person.settled'>,
): PoolState {
  const { question } = seen.data;
  switch (seen.type) {
    case 'person.asked':
      return asked(state, seen);
    case 'person.answered':
      return changed(state, question, (entry) => answeredPerson(entry, seen));
    case 'person.escalated':
      return changed(state, question, (entry) => escalatedPerson(entry, seen));
    case 'person.settled':
      return answered(state, question, { seen, change: (entry) => settledPerson(entry, seen) });
  }
}

/** A task that failed before it had an agent. */
function neverBegan(state: PoolState, agent: string): PoolState {
  const entry = memberOf(state.agents, agent);
  return entry === undefined || entry.machine !== undefined ? state : withoutAgent(state, agent);
}

function foldEnding(state: PoolState, seen: SeenEvent): PoolState {
  const ended = foldEnded(state.ended, seen);
  if (ended === state.ended) return state;
  const next = { ...state, ended };
  if (ended.session) return withoutDelegations(forgetAllEarlier(next));
  const isOver = seen.type === 'task.abandoned' || seen.type === 'task.cancelled';
  return isOver ? forgetEarlier(next, seen.data.task) : next;
}

/** Answers of people find a child session by the goal of its parent. */
function opened(state: PoolState, { data, content }: SeenEvent<'session.opened'>): PoolState {
  const context = bodyOf(content.context, {});
  if (data.parent === undefined) return { ...state, context };
  return { ...state, context, root: data.goalLog.replace(/^goal_/, '') };
}

/** Events of the session and of its tasks; the same object when they change nothing. */
function foldWork(state: PoolState, seen: SeenEvent, pool: string): PoolState {
  switch (seen.type) {
    case 'session.opened':
      return opened(state, seen);
    case 'plan.accepted':
      return pin(state, seen, pool);
    case 'task.scheduled':
      return schedule(state, seen, pool);
    case 'task.failed':
      return neverBegan(state, seen.data.agent);
    case 'agent.created':
      return created(state, seen);
    case 'agent.cleaned-up':
      return withoutAgent(paidDelegate(state, seen.data.agent), seen.data.agent);
    case 'agent.provisioned':
    case 'agent.started':
    case 'agent.completed':
    case 'agent.failed':
    case 'agent.cancelled':
      return moved(state, seen.data.agent, { seen });
    default:
      return foldEnding(state, seen);
  }
}

/** The same object when the event changes nothing. */
export function evolve(state: PoolState, seen: SeenEvent, pool: string): PoolState {
  switch (seen.type) {
    case 'tool.requested':
    case 'model.requested':
      return requested(state, seen);
    case 'tool.permitted':
    case 'tool.claimed':
      return started(state, seen);
    case 'tool.completed':
    case 'tool.failed':
    case 'tool.denied':
    case 'tool.unknown':
      return answered(state, seen.data.call, {
        seen,
        change: (entry) =>
          isProvisioning(entry) ? toldServer(entry, seen) : endedTool(entry, seen),
      });
    case 'model.completed':
      return answered(state, seen.data.call, {
        seen,
        change: (entry) =>
          completedModel(entry, modelAgentOf(state, memberOf(state.open, seen.data.call)), seen),
      });
    case 'model.failed':
    case 'model.denied':
      return answered(state, seen.data.call, {
        seen,
        change: (entry) =>
          failedModel(entry, seen, definitionOf(state, memberOf(state.open, seen.data.call))),
      });
    case 'person.asked':
    case 'person.answered':
    case 'person.escalated':
    case 'person.settled':
      return foldQuestion(state, seen);
    case 'timer.set':
      return setTimer(state, seen);
    case 'timer.fired':
      return firedTimer(state, seen);
    case 'timer.cancelled':
      return cancelledTimer(state, seen);
    case 'budget.raised':
      return raised(state, seen);
    case 'task.delegated':
      return delegated(state, seen, watches(state, seen.data.agent));
    case 'delegation.settled':
      return settledDelegation(state, seen);
    default:
      return foldWork(endedTask(state, seen), seen, pool);
  }
}
