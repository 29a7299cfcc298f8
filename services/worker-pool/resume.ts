/**
 * What a further attempt takes over from the one before: all that was answered. Only the step that failed is made
 * again, and never a call that must not be made twice.
 *
 * R1 A call with a result is not made again, whatever it does.
 * R2 A call that must not be made twice and may have run is not made again, whatever became of it.
 * R3 While nobody knows what became of such a call, the next attempt waits for its outcome.
 */

import type { AgentDefinition } from '../../schemas/definitions/agent.ts';
import { resumesAttempts } from '../chassis/catalog/agent-form.ts';
import { type Members, memberOf, withMember, withoutMember } from '../chassis/effects/member.ts';
import { renewed } from './recovery.ts';
import {
  type AgentEntry,
  agentId,
  type Failure,
  noUsage,
  type PoolState,
  type ToolCallEntry,
} from './state.ts';

/** Codes of failures that say that nothing was run. */
const notRunCodes: ReadonlySet<string> = new Set([
  ...['CALL_CANCELLED', 'CALL_EXPIRED', 'TASK_ENDED', 'SESSION_ENDED', 'TOOL_SUSPENDED'],
]);

const mayHaveRun = ({ failure, started }: ToolCallEntry): boolean =>
  started === true && !(failure !== undefined && notRunCodes.has(failure.code));

/** Whether the call must not be made again: it may have run, and has no result. */
export const isSpent = (call: ToolCallEntry): boolean =>
  call.effect === 'at-most-once' && call.result === undefined && mayHaveRun(call);

/** The failure of a call, with what follows from R2. */
export function finalFailure(call: ToolCallEntry, failure: Failure): Failure {
  if (!failure.retryable || !isSpent(call)) return failure;
  const message = `${failure.message} It is not made again, because it must not be made twice.`;
  return { ...failure, retryable: false, message };
}

const definitionOf = (state: PoolState, { name }: AgentEntry): AgentDefinition | undefined =>
  memberOf(state.definitions, name);

/** Whether there is anything that the next attempt would have to make again. */
function hasProgress(entry: AgentEntry): boolean {
  return (
    entry.model.answer !== undefined ||
    entry.tools.some((one) => one.result !== undefined || isSpent(one) || isOpen(one))
  );
}

const isOpen = ({ result, failure }: ToolCallEntry): boolean =>
  result === undefined && failure === undefined;

const endedBadly = new Set(['failed', 'cancelled']);

/** The state without the agent. One that failed or was stopped is kept for the next attempt of its task. */
export function withoutAgent(state: PoolState, agent: string): PoolState {
  const entry = memberOf(state.agents, agent);
  if (entry === undefined) return state;
  const { machine, ...rest } = entry;
  const keeps =
    !state.ended.session &&
    endedBadly.has(machine?.value ?? '') &&
    resumesAttempts(definitionOf(state, entry)) &&
    hasProgress(entry);
  const toolCalls = keeps ? entry.tools.filter(isOpen).map(({ call }) => call) : [];
  const open = Object.entries(state.open).filter(
    ([call, owner]) => owner !== agent || toolCalls.includes(call),
  );
  const next = {
    ...state,
    agents: withoutMember(state.agents, agent),
    open: Object.fromEntries(open),
  };
  return keeps ? { ...next, earlier: withMember(state.earlier ?? {}, entry.task, rest) } : next;
}

const without = (state: PoolState, earlier: Members<AgentEntry>): PoolState => {
  if (Object.keys(earlier).length > 0) return { ...state, earlier };
  const { earlier: _gone, ...rest } = state;
  return rest;
};

/** The state once nothing more will be tried for the task. */
export function forgetEarlier(state: PoolState, task: string): PoolState {
  const { earlier } = state;
  if (earlier === undefined || memberOf(earlier, task) === undefined) return state;
  return without(state, withoutMember(earlier, task));
}

/** The state once nothing more will be tried at all. */
export const forgetAllEarlier = (state: PoolState): PoolState =>
  state.earlier === undefined ? state : without(state, {});

/** Another agent that takes over has nothing of its own to go on from. */
function earlierOf(state: PoolState, { task, name }: AgentEntry): AgentEntry | undefined {
  const earlier = state.earlier === undefined ? undefined : memberOf(state.earlier, task);
  return earlier?.name === name ? earlier : undefined;
}

/** R3: whether a call of the attempt before may still tell how it ended. */
export const awaitsEarlier = (state: PoolState, entry: AgentEntry): boolean =>
  earlierOf(state, entry)?.tools.some((call) => isOpen(call) && isSpent(call)) === true;

/** The agent that this one goes on from; undefined where it starts anew. */
export function resumedAgent(state: PoolState, entry: AgentEntry): string | undefined {
  const earlier = earlierOf(state, entry);
  return earlier === undefined ? undefined : agentId(earlier.task, earlier.attempt);
}

const cancelled = ({ failure }: ToolCallEntry): boolean =>
  failure !== undefined && (failure.class === 'cancelled' || notRunCodes.has(failure.code));

/** Calls of a model's answer stay in their places; those that are to be made anew have no id. */
function ofAnswer(call: ToolCallEntry): ToolCallEntry {
  const anew = !isSpent(call) && (isOpen(call) || cancelled(call));
  return anew ? { call: '', step: call.step, tool: call.tool } : call;
}

function toolsFor(kind: AgentDefinition['kind'], tools: readonly ToolCallEntry[]) {
  if (kind === 'model') return tools.map(ofAnswer);
  return tools.filter((one) => one.result !== undefined || isSpent(one));
}

/** The agent with what the attempt before has; undefined where there is none. */
export function resumed(state: PoolState, entry: AgentEntry): AgentEntry | undefined {
  const earlier = earlierOf(state, entry);
  const definition = definitionOf(state, entry);
  if (earlier === undefined || definition === undefined) return undefined;
  const goesOn = goingOn(earlier, entry, definition.kind);
  return entry.recovery === undefined ? goesOn : renewed(definition, goesOn, entry.recovery);
}

/** What the earlier attempt has, as the state of this one. */
function goingOn(
  earlier: AgentEntry,
  entry: AgentEntry,
  kind: AgentDefinition['kind'],
): AgentEntry {
  const { wall: _wall, summary: _summary, questions: _asked, ...others } = earlier;
  const { delegatedNanoUsd: _paid, checks: _checks, ...kept } = others;
  const { answer, finishReason, step = 0 } = earlier.model;
  const talked =
    earlier.usage.modelCalls > 0 ? agentId(earlier.task, earlier.attempt) : earlier.continues;
  return {
    ...kept,
    ...{ task: entry.task, attempt: entry.attempt, name: entry.name, input: entry.input, calls: 0 },
    usage: { ...noUsage, steps: kind === 'model' ? step : 0 },
    tools: toolsFor(kind, earlier.tools),
    model: {
      call: '',
      tries: 0,
      step,
      ...(answer === undefined
        ? {}
        : { answer, ...(finishReason === undefined ? {} : { finishReason }) }),
    },
    refused: 0,
    ...(talked === undefined ? {} : { continues: talked }),
  };
}
