/** The fold of work that agents give to others: which tasks they made, what became of them, what they cost. */

import { bodyOf, type SeenEvent, textOf } from '../../schemas/event.ts';
import { delegate } from '../chassis/catalog/delegation-tools.ts';
import { memberOf, withMember, withoutMember } from '../chassis/effects/member.ts';
import { sha256 } from '../chassis/protocol/hash.ts';
import { moved } from './agent-change.ts';
import { endedCall } from './evolve-tool.ts';
import {
  type AgentEntry,
  type Delegation,
  type DelegationEnd,
  newAgent,
  noUsage,
  type PoolState,
} from './state.ts';

type Delegated = SeenEvent<'task.delegated'>;

function delegationOf(entry: AgentEntry, { data }: Delegated): Delegation {
  const { task, agent, call, kind, to, depth, depthMax, handoffs, budgetNanoUsdMax } = data;
  const { modelCallId, conversation } = data;
  const talk =
    conversation !== true
      ? {}
      : {
          talk: {
            ...{ steps: entry.usage.steps, callId: modelCallId ?? '' },
            ...(entry.ledger === undefined ? {} : { ledger: entry.ledger }),
          },
        };
  return {
    ...{ task, agent, call, kind, to, depth, depthMax, handoffs, costNanoUsd: 0, ...talk },
    ...(budgetNanoUsdMax === undefined ? {} : { budgetNanoUsdMax }),
  };
}

/** The agent after it delegated: it waits as for any call. */
function askedDelegate(entry: AgentEntry, watched: boolean, { data, content }: Delegated) {
  const { call, step } = data;
  const { tools, calls, usage } = entry;
  const asked = { call, step, tool: delegate };
  const signature = sha256([delegate, data.to, content.input.digest].join('\n')).slice(0, 24);
  const made = watched ? { ...asked, signature } : asked;
  const place = tools.findIndex((one) => one.call === '');
  return {
    tools: place < 0 ? [...tools, made] : tools.with(place, made),
    calls: calls + 1,
    usage: { ...usage, steps: Math.max(usage.steps, step), toolCalls: usage.toolCalls + 1 },
  };
}

/** The state after an agent of this pool gave work away; `watched`: loops of its calls are looked for. */
export function delegated(state: PoolState, seen: Delegated, watched: boolean): PoolState {
  const { agent, delegated: id, kind, task, ordinal } = seen.data;
  const entry = memberOf(state.agents, agent);
  const { delegations = {} } = state;
  if (entry?.machine === undefined || memberOf(delegations, id) !== undefined) return state;
  const next =
    kind === 'delegate'
      ? moved(state, agent, { seen, change: (one) => askedDelegate(one, watched, seen) })
      : state;
  if (kind === 'delegate' && next === state) return state;
  return {
    ...next,
    delegations: withMember(delegations, id, delegationOf(entry, seen)),
    delegated: withMember(state.delegated ?? {}, task, ordinal),
  };
}

function endOf(seen: SeenEvent): DelegationEnd | undefined {
  switch (seen.type) {
    case 'task.completed':
      return { result: bodyOf(seen.content.output) };
    case 'task.abandoned': {
      const { code, class: kind } = seen.data;
      const message = textOf(seen.content.message);
      return { failure: { code, class: kind, retryable: false, message } };
    }
    case 'task.cancelled': {
      const message = 'The task that was delegated was cancelled.';
      return { failure: { code: 'TASK_CANCELLED', class: 'cancelled', retryable: false, message } };
    }
    default:
      return undefined;
  }
}

/** The state after the end of a task: what was delegated has come to something, and what it delegated itself is over. */
export function endedTask(state: PoolState, seen: SeenEvent): PoolState {
  const { delegations } = state;
  const end = delegations === undefined ? undefined : endOf(seen);
  if (delegations === undefined || end === undefined || !('task' in seen.data)) return state;
  const { task } = seen.data;
  const left = Object.entries(delegations).filter(([, one]) => one.task !== task);
  const known = memberOf(delegations, String(task));
  const rest =
    left.length === Object.keys(delegations).length ? delegations : Object.fromEntries(left);
  if (known?.kind !== 'delegate' || known.end !== undefined) {
    return rest === delegations ? state : { ...state, delegations: rest };
  }
  return { ...state, delegations: withMember(rest, String(task), { ...known, end }) };
}

/** The state after an agent is gone: what it has cost counts for whoever delegated to it. */
export function paidDelegate(state: PoolState, agent: string): PoolState {
  const entry = memberOf(state.agents, agent);
  const { delegations } = state;
  if (entry === undefined || delegations === undefined) return state;
  const costNanoUsd = entry.usage.costNanoUsd + (entry.delegatedNanoUsd ?? 0);
  let { task } = entry;
  for (;;) {
    const one = memberOf(delegations, task);
    if (one === undefined || costNanoUsd === 0) return state;
    if (one.kind === 'delegate') {
      const paid = { ...one, costNanoUsd: one.costNanoUsd + costNanoUsd };
      return { ...state, delegations: withMember(delegations, task, paid) };
    }
    // What a task was handed on for is paid by who waits for that task.
    task = one.task;
  }
}

/** The state after the agent was told what its delegate came to. */
export function settledDelegation(
  state: PoolState,
  seen: SeenEvent<'delegation.settled'>,
): PoolState {
  const { agent, delegated: id, call } = seen.data;
  const { delegations = {} } = state;
  const one = memberOf(delegations, id);
  const end = one?.end;
  if (one === undefined || end === undefined || one.agent !== agent) return state;
  const change = (entry: AgentEntry) => ({
    ...endedCall(entry, call, end),
    delegatedNanoUsd: (entry.delegatedNanoUsd ?? 0) + one.costNanoUsd,
  });
  const next = moved(state, agent, { seen, change });
  return next === state ? state : { ...next, delegations: withoutMember(delegations, id) };
}

/** A new agent, with the conversation that it was handed on with. */
export function begun(
  { delegations = {} }: PoolState,
  of: Pick<AgentEntry, 'task' | 'attempt' | 'name' | 'input'>,
): AgentEntry {
  const entry = newAgent(of);
  const from = memberOf(delegations, of.task);
  if (from?.talk === undefined) return entry;
  const { steps, callId, ledger } = from.talk;
  return {
    ...entry,
    ...{ usage: { ...noUsage, steps }, continues: from.agent },
    handed: { steps, callId },
    ...(ledger === undefined ? {} : { ledger }),
  };
}

export const withoutDelegations = (state: PoolState): PoolState => {
  const { delegations: _over, ...rest } = state;
  return state.delegations === undefined ? state : rest;
};
