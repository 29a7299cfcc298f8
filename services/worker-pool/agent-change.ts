/** Changes of one agent in the state of its pool. */

import type { SeenEvent } from '../../schemas/event.ts';
import { foldAgent } from '../../state-machines/agent/agent-machine.ts';
import { memberOf, withMember } from '../chassis/effects/member.ts';
import type { AgentEntry, PoolState } from './state.ts';

export const withAgent = (state: PoolState, agent: string, entry: AgentEntry): PoolState => ({
  ...state,
  agents: withMember(state.agents, agent, entry),
});

export type Change = (entry: AgentEntry) => Partial<AgentEntry>;

/**
 * Moves the agent's machine, and with it what `change` says. Nothing changes where the machine
 * refuses.
 */
export function moved(
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

/** Changes the agent that asked the question, which is open, and leaves it waiting. */
export function changed(
  state: PoolState,
  question: string,
  change: (entry: AgentEntry) => Partial<AgentEntry> | undefined,
): PoolState {
  const agent = memberOf(state.open, question);
  const entry = agent === undefined ? undefined : memberOf(state.agents, agent);
  const part = entry === undefined ? undefined : change(entry);
  if (agent === undefined || entry === undefined || part === undefined) return state;
  return withAgent(state, agent, { ...entry, ...part });
}
