/**
 * The fold of a worker pool. An answer counts once, and only while its agent waits for it: the
 * agent's machine says so, and what it refuses changes nothing.
 */

import type { PinnedCatalog } from '../../schemas/definitions/catalog.ts';
import { bodyOf, type SeenEvent } from '../../schemas/event.ts';
import { agentFold, foldAgent } from '../../state-machines/agent/agent-machine.ts';
import { workersOfPlan } from '../chassis/catalog/plan-agents.ts';
import { foldEnded } from '../chassis/effects/ended-work.ts';
import { memberOf, withMember, withoutMember } from '../chassis/effects/member.ts';
import { failureOf, modelFailureOf, type ToolFailureEvent } from './failures.ts';
import { readAnswer } from './messages.ts';
import {
  type AgentEntry,
  agentId,
  agentOfTimer,
  type ModelProgress,
  newAgent,
  type PoolState,
  type ToolCallEntry,
  type Usage,
} from './state.ts';

/** Only what this pool's tasks name: the state stays small. */
function pin(state: PoolState, seen: SeenEvent<'plan.accepted'>, pool: string): PoolState {
  const catalog = bodyOf(seen.content.catalog) as unknown as PinnedCatalog;
  // Those of branches and reviewers, and those that a plan may be given later, stand in the plan alone.
  const all = [...seen.data.tasks, ...workersOfPlan(catalog.plan)];
  const workers = all.filter((one) => one.pool === pool);
  const names = workers.map(({ agent }) => agent);
  const definitions = Object.fromEntries(
    Object.entries(catalog.agents).filter(([name]) => names.includes(name)),
  );
  return { ...state, definitions, models: catalog.models };
}

function schedule(state: PoolState, seen: SeenEvent<'task.scheduled'>, pool: string): PoolState {
  const { task, attempt, agent: name } = seen.data;
  if (seen.data.pool !== pool || (memberOf(state.attempts, task) ?? 0) >= attempt) return state;
  const entry = newAgent({ task, attempt, name, input: bodyOf(seen.content.input) });
  return {
    ...state,
    agents: withMember(state.agents, agentId(task, attempt), entry),
    attempts: withMember(state.attempts, task, attempt),
  };
}

const withAgent = (state: PoolState, agent: string, entry: AgentEntry): PoolState => ({
  ...state,
  agents: withMember(state.agents, agent, entry),
});

function created(state: PoolState, agent: string): PoolState {
  const entry = memberOf(state.agents, agent);
  if (entry === undefined || entry.machine !== undefined) return state;
  return withAgent(state, agent, { ...entry, machine: agentFold.initial() });
}

function dropped(state: PoolState, agent: string): PoolState {
  const agents = withoutMember(state.agents, agent);
  if (agents === state.agents) return state;
  const open = Object.entries(state.open).filter(([, owner]) => owner !== agent);
  return { ...state, agents, open: Object.fromEntries(open) };
}

type Change = (entry: AgentEntry) => Partial<AgentEntry>;

/**
 * Moves the agent's machine, and with it what `change` says. Nothing changes where the machine
 * refuses.
 */
function moved(
  state: PoolState,
  agent: string | undefined,
  step: { seen: SeenEvent; change?: Change },
) {
  const entry = agent === undefined ? undefined : memberOf(state.agents, agent);
  if (agent === undefined || entry?.machine === undefined) return state;
  const machine = foldAgent(entry.machine, step.seen);
  if (machine === entry.machine) return state;
  return withAgent(state, agent, { ...entry, ...step.change?.(entry), machine });
}

function requestedTool(state: PoolState, seen: SeenEvent<'tool.requested'>): PoolState {
  const { call, step, tool, agent } = seen.data;
  const change = ({ tools, calls, usage }: AgentEntry) => ({
    tools: [...tools, { call, step, tool }],
    calls: calls + 1,
    usage: { ...usage, steps: Math.max(usage.steps, step), toolCalls: usage.toolCalls + 1 },
  });
  const next = moved(state, agent, { seen, change });
  return next === state ? state : { ...next, open: withMember(next.open, call, agent) };
}

function requestedModel(state: PoolState, seen: SeenEvent<'model.requested'>): PoolState {
  const { call, step, agent } = seen.data;
  const change = ({ calls, usage, model }: AgentEntry) => ({
    model: nextTry(model, call, step === usage.steps ? model.tries + 1 : 1),
    calls: calls + 1,
    usage: { ...usage, steps: step, modelCalls: usage.modelCalls + 1 },
  });
  const next = moved(state, agent, { seen, change });
  return next === state ? state : { ...next, open: withMember(next.open, call, agent) };
}

function nextTry(model: ModelProgress, call: string, tries: number): ModelProgress {
  const { failure: _failed, retry: _waited, ...kept } = model;
  return { ...kept, call, tries };
}

/** An answer to an open call: takes it off the list, and gives it to its agent. */
function answered(
  state: PoolState,
  call: string,
  step: { seen: SeenEvent; change: Change },
): PoolState {
  const agent = memberOf(state.open, call);
  if (agent === undefined) return state;
  return moved({ ...state, open: withoutMember(state.open, call) }, agent, step);
}

function withTool(entry: AgentEntry, call: string, end: Partial<ToolCallEntry>) {
  const tools = entry.tools.map((one) => (one.call === call ? { ...one, ...end } : one));
  return { tools };
}

function endedTool(state: PoolState, seen: SeenEvent<'tool.completed'> | ToolFailureEvent) {
  const { call } = seen.data;
  const end =
    seen.type === 'tool.completed'
      ? { result: bodyOf(seen.content.result) }
      : { failure: failureOf(seen) };
  return answered(state, call, { seen, change: (entry) => withTool(entry, call, end) });
}

function spent(usage: Usage, seen: SeenEvent<'model.completed' | 'model.failed'>): Usage {
  const { inputTokens, outputTokens, costNanoUsd } = seen.data;
  return {
    ...usage,
    inputTokens: usage.inputTokens + inputTokens,
    outputTokens: usage.outputTokens + outputTokens,
    costNanoUsd: usage.costNanoUsd + costNanoUsd,
  };
}

function completedModel(state: PoolState, seen: SeenEvent<'model.completed'>): PoolState {
  const answer = readAnswer(bodyOf(seen.content.message));
  const { call, finishReason } = seen.data;
  const change = ({ model, usage }: AgentEntry) => {
    if (answer === undefined) {
      return { usage: spent(usage, seen), model: { ...model, failure: modelFailureOf(seen) } };
    }
    const next = { call: model.call, tries: model.tries, answer, finishReason };
    return { usage: spent(usage, seen), model: next, tools: [] };
  };
  return answered(state, call, { seen, change });
}

function failedModel(
  state: PoolState,
  seen: SeenEvent<'model.failed' | 'model.denied'>,
): PoolState {
  const change = ({ model, usage }: AgentEntry) => ({
    usage: seen.type === 'model.failed' ? spent(usage, seen) : usage,
    model: { ...model, failure: modelFailureOf(seen) },
  });
  return answered(state, seen.data.call, { seen, change });
}

function setTimer(state: PoolState, seen: SeenEvent<'timer.set'>): PoolState {
  const { record, index } = seen;
  const retry = { timer: seen.data.timer, record, index, fired: false };
  const change = ({ model }: AgentEntry) => ({ model: { ...model, retry } });
  return moved(state, agentOfTimer(seen.data.timer), { seen, change });
}

function firedTimer(state: PoolState, seen: SeenEvent<'timer.fired'>): PoolState {
  const { timer, record, index } = seen.data;
  const agent = agentOfTimer(timer);
  const retry = agent === undefined ? undefined : memberOf(state.agents, agent)?.model.retry;
  if (retry === undefined || retry.record !== record || retry.index !== index) return state;
  const change = ({ model }: AgentEntry) => ({
    model: { ...model, retry: { ...retry, fired: true } },
  });
  return moved(state, agent, { seen, change });
}

/** A task that failed before it had an agent. */
function neverBegan(state: PoolState, agent: string): PoolState {
  const entry = memberOf(state.agents, agent);
  return entry === undefined || entry.machine !== undefined ? state : dropped(state, agent);
}

function foldEnding(state: PoolState, seen: SeenEvent): PoolState {
  const ended = foldEnded(state.ended, seen);
  return ended === state.ended ? state : { ...state, ended };
}

/** Events of the session and of its tasks; the same object when they change nothing. */
function foldWork(state: PoolState, seen: SeenEvent, pool: string): PoolState {
  switch (seen.type) {
    case 'session.opened':
      return { ...state, context: bodyOf(seen.content.context, {}) };
    case 'plan.accepted':
      return pin(state, seen, pool);
    case 'task.scheduled':
      return schedule(state, seen, pool);
    case 'task.failed':
      return neverBegan(state, seen.data.agent);
    case 'agent.created':
      return created(state, seen.data.agent);
    case 'agent.cleaned-up':
      return dropped(state, seen.data.agent);
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
      return requestedTool(state, seen);
    case 'model.requested':
      return requestedModel(state, seen);
    case 'tool.completed':
    case 'tool.failed':
    case 'tool.denied':
    case 'tool.unknown':
      return endedTool(state, seen);
    case 'model.completed':
      return completedModel(state, seen);
    case 'model.failed':
    case 'model.denied':
      return failedModel(state, seen);
    case 'timer.set':
      return setTimer(state, seen);
    case 'timer.fired':
      return firedTimer(state, seen);
    default:
      return foldWork(state, seen, pool);
  }
}
