/** The fold of the timers of agents: waits before a model is asked again, wall time, and the time of a question. */

import type { SeenEvent } from '../../schemas/event.ts';
import { memberOf } from '../chassis/effects/member.ts';
import { changed, moved, withAgent } from './agent-change.ts';
import { timedPerson } from './evolve-person.ts';
import {
  type AgentEntry,
  agentOfTimer,
  agentOfWallTimer,
  type PoolState,
  questionOfTimer,
} from './state.ts';

export function setTimer(state: PoolState, seen: SeenEvent<'timer.set'>): PoolState {
  const { record, index } = seen;
  const retry = { timer: seen.data.timer, record, index, fired: false };
  const question = questionOfTimer(seen.data.timer);
  if (question !== undefined)
    return changed(state, question, (entry) => timedPerson(entry, question, retry));
  const walled = agentOfWallTimer(seen.data.timer);
  const entry = walled === undefined ? undefined : memberOf(state.agents, walled);
  if (walled !== undefined)
    return entry === undefined ? state : withAgent(state, walled, { ...entry, wall: retry });
  const change = ({ model }: AgentEntry) => ({ model: { ...model, retry } });
  return moved(state, agentOfTimer(seen.data.timer), { seen, change });
}

function firedWall(state: PoolState, agent: string, { data }: SeenEvent<'timer.fired'>): PoolState {
  const entry = memberOf(state.agents, agent);
  const wall = entry?.wall;
  if (entry === undefined || wall === undefined || wall.fired) return state;
  if (wall.record !== data.record || wall.index !== data.index) return state;
  return withAgent(state, agent, { ...entry, wall: { ...wall, fired: true } });
}

export function firedTimer(state: PoolState, seen: SeenEvent<'timer.fired'>): PoolState {
  const { timer, record, index } = seen.data;
  const question = questionOfTimer(timer);
  if (question !== undefined) {
    const fired = { timer, record, index, fired: true };
    return changed(state, question, (entry) => timedPerson(entry, question, fired));
  }
  const walled = agentOfWallTimer(timer);
  if (walled !== undefined) return firedWall(state, walled, seen);
  const agent = agentOfTimer(timer);
  const retry = agent === undefined ? undefined : memberOf(state.agents, agent)?.model.retry;
  if (retry === undefined || retry.record !== record || retry.index !== index) return state;
  const change = ({ model }: AgentEntry) => ({
    model: { ...model, retry: { ...retry, fired: true } },
  });
  return moved(state, agent, { seen, change });
}

/** Only questions take theirs back while their agent goes on. */
export function cancelledTimer(
  state: PoolState,
  { data }: SeenEvent<'timer.cancelled'>,
): PoolState {
  const question = questionOfTimer(data.timer);
  if (question === undefined) return state;
  return changed(state, question, (entry) => timedPerson(entry, question, undefined));
}
