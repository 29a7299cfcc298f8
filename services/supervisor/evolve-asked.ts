/** The fold of tool calls as far as retries are concerned: which attempts were allowed what must not happen twice. */

import type { SeenEvent } from '../../schemas/event.ts';
import type { SupervisorState, TaskState } from './state.ts';

type CallEvent = SeenEvent<'tool.requested' | 'tool.permitted' | 'tool.denied'>;

const mark = (task: TaskState, id: string | undefined): TaskState =>
  task.definition.id === id && task.acted === undefined ? { ...task, acted: true } : task;

/** A call counts from its permit on: whoever may claim it may have run it. */
export function evolveAsked(state: SupervisorState, event: CallEvent): SupervisorState {
  const { asked = {} } = state;
  if (event.type === 'tool.requested') {
    return { ...state, asked: { ...asked, [event.data.call]: event.data.task } };
  }
  const { [event.data.call]: task, ...rest } = asked;
  if (task === undefined) return state;
  const once = event.type === 'tool.permitted' && event.data.effect === 'at-most-once';
  const tasks = once ? state.tasks.map((one) => mark(one, task)) : state.tasks;
  return { ...state, tasks, asked: rest };
}
