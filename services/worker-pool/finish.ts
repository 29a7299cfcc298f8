/**
 * How an agent ends, as events. Each end is one turn, and nothing of the agent is left after it.
 */

import { type ContentDraft, type Draft, event, text } from '../../schemas/event.ts';
import type { EndedBecause } from '../chassis/effects/ended-work.ts';
import { withdrawDrafts } from './questions.ts';
import type { AgentEntry, Failure, PoolState } from './state.ts';

const cleanedUp = (agent: string): Draft => event('agent.cleaned-up', { agent });

/** Timers of the agent that are set and did not fire are taken back. */
function timersOff({ model, wall }: AgentEntry): Draft[] {
  return [model.retry, wall].flatMap((set) =>
    set === undefined || set.fired ? [] : [event('timer.cancelled', { timer: set.timer })],
  );
}

export function completeDrafts(agent: string, entry: AgentEntry, output: ContentDraft): Draft[] {
  const { task, attempt, usage } = entry;
  return [
    event('task.completed', { task, attempt, agent }, { output }),
    ...timersOff(entry),
    event('agent.completed', { agent, ...usage }),
    cleanedUp(agent),
  ];
}

/** The agent ends, and its task goes on without it. */
export function handOnDrafts(agent: string, entry: AgentEntry): Draft[] {
  return [
    ...timersOff(entry),
    event('agent.completed', { agent, ...entry.usage }),
    cleanedUp(agent),
  ];
}

/** The task's failure alone: for an agent that was never made. */
export function taskFailedDraft(agent: string, entry: AgentEntry, failure: Failure): Draft {
  const { task, attempt } = entry;
  const { code, class: kind, retryable, message } = failure;
  const data = { task, attempt, agent, code, class: kind, retryable };
  return event('task.failed', data, { message: text(message) });
}

/** The agent that ends. */
export type Ending = Readonly<{ agent: string; entry: AgentEntry; state: PoolState }>;

export function failDrafts({ agent, entry, state }: Ending, failure: Failure): Draft[] {
  const { code, class: kind } = failure;
  return [
    ...withdrawDrafts(agent, entry, state),
    ...timersOff(entry),
    event('agent.failed', { agent, code, class: kind, ...entry.usage }),
    taskFailedDraft(agent, entry, failure),
    cleanedUp(agent),
  ];
}

/** Its task or session ended; a wait that was set is taken back. */
export function cancelDrafts({ agent, entry, state }: Ending, because: EndedBecause): Draft[] {
  return [
    ...withdrawDrafts(agent, entry, state),
    ...timersOff(entry),
    event('agent.cancelled', { agent, because }),
    cleanedUp(agent),
  ];
}
