/**
 * The fold of one task of the plan: its machine, and what the next decision needs of its events.
 */

import type { PlanDefinition, TaskDefinition } from '../../schemas/definitions/plan.ts';
import { bodyOf, type SeenEvent, textOf } from '../../schemas/event.ts';
import type { Persisted } from '../../state-machines/fold.ts';
import { attemptsOf, foldTask, taskFold } from '../../state-machines/task/task-machine.ts';
import { addressOf } from '../chassis/protocol/service-logic.ts';
import type { SupervisorState, TaskState } from './state.ts';

export function newTask(definition: TaskDefinition, plan: PlanDefinition): TaskState {
  return {
    definition,
    machine: taskFold.initial(),
    needed: plan.tasks.some((other) => other.needs.includes(definition.id)),
    dueAtMs: 0,
    fired: null,
    failure: null,
    output: null,
  };
}

/**
 * The state after an event that names a task; the same object when the task's machine refuses it.
 */
export function evolveTask(state: SupervisorState, event: SeenEvent): SupervisorState {
  if (!event.type.startsWith('task.') || !('task' in event.data)) return state;
  const { task: id } = event.data;
  const at = state.tasks.findIndex((task) => task.definition.id === id);
  const task = state.tasks[at];
  if (task === undefined) return state;
  const machine = foldTask(task.machine, event);
  if (machine === task.machine) return state;
  return { ...state, tasks: state.tasks.with(at, afterEvent(task, machine, event)) };
}

function afterEvent(before: TaskState, machine: Persisted, event: SeenEvent): TaskState {
  const task = { ...before, machine };
  switch (event.type) {
    case 'task.scheduled':
      return { ...task, dueAtMs: event.data.deadlineAtMs, fired: null, failure: null };
    case 'task.retry-scheduled':
      return { ...task, dueAtMs: event.data.dueAtMs, fired: null };
    case 'task.completed':
      return { ...task, output: task.needed ? bodyOf(event.content.output) : null };
    case 'task.failed': {
      const { code, class: kind, retryable } = event.data;
      const message = textOf(event.content.message);
      return {
        ...task,
        failure: { code, class: kind, retryable, message, seed: addressOf(event) },
      };
    }
    case 'task.timed-out':
      return { ...task, failure: timeoutOf(task) };
    case 'task.abandoned': {
      const { code, class: kind } = event.data;
      const message = textOf(event.content.message);
      return { ...task, failure: { code, class: kind, retryable: false, message, seed: '' } };
    }
    default:
      return task;
  }
}

function timeoutOf(task: TaskState): TaskState['failure'] {
  const { id, timeoutMs, attemptsMax } = task.definition;
  const attempt = `attempt ${attemptsOf(task.machine)} of ${attemptsMax}`;
  const message = `Task "${id}" did not end within ${timeoutMs} ms (${attempt}).`;
  const seed = task.fired ?? id;
  return { code: 'TASK_TIMED_OUT', class: 'timeout', retryable: true, message, seed };
}
