/**
 * The life of one task of a plan. Counts attempts: an outcome of another attempt than the one that
 * runs is refused, so late and repeated outcomes change nothing.
 */

import { assign, setup } from 'xstate';
import type { SeenEvent } from '../../schemas/event.ts';
import { createFold, type Persisted } from '../fold.ts';

/** The events of the log that move a task, with the fields that the machine looks at. */
export type TaskMachineEvent =
  | { type: 'task.scheduled'; attempt: number }
  | { type: 'task.completed'; attempt: number }
  | { type: 'task.failed'; attempt: number }
  | { type: 'task.timed-out'; attempt: number }
  /** `attempt` is the one that will be made. */
  | { type: 'task.retry-scheduled'; attempt: number }
  | { type: 'task.abandoned' }
  | { type: 'task.skipped' }
  | { type: 'task.cancelled' };

export type TaskMachineContext = { attempt: number };

const attemptOf = (event: TaskMachineEvent): number => ('attempt' in event ? event.attempt : 0);

export const taskMachine = setup({
  types: { context: {} as TaskMachineContext, events: {} as TaskMachineEvent },
  guards: {
    isCurrent: ({ context, event }) => attemptOf(event) === context.attempt,
    isNext: ({ context, event }) => attemptOf(event) === context.attempt + 1,
  },
  actions: {
    countAttempt: assign(({ event }) => ({ attempt: attemptOf(event) })),
  },
}).createMachine({
  id: 'task',
  context: { attempt: 0 },
  initial: 'pending',
  states: {
    pending: {
      on: {
        'task.scheduled': { guard: 'isNext', target: 'scheduled', actions: 'countAttempt' },
        'task.abandoned': 'abandoned',
        'task.skipped': 'skipped',
        'task.cancelled': 'cancelled',
      },
    },
    scheduled: {
      on: {
        'task.completed': { guard: 'isCurrent', target: 'completed' },
        'task.failed': { guard: 'isCurrent', target: 'failed' },
        'task.timed-out': { guard: 'isCurrent', target: 'failed' },
        'task.cancelled': 'cancelled',
      },
    },
    failed: {
      on: {
        'task.retry-scheduled': { guard: 'isNext', target: 'retrying' },
        'task.abandoned': 'abandoned',
        'task.cancelled': 'cancelled',
      },
    },
    retrying: {
      on: {
        'task.scheduled': { guard: 'isNext', target: 'scheduled', actions: 'countAttempt' },
        'task.abandoned': 'abandoned',
        'task.cancelled': 'cancelled',
      },
    },
    completed: { type: 'final' },
    abandoned: { type: 'final' },
    skipped: { type: 'final' },
    cancelled: { type: 'final' },
  },
});

export const taskFold = createFold<TaskMachineEvent>(taskMachine);

/**
 * The task after this event, which must name it; the same object when the event does not move it.
 */
export function foldTask(state: Persisted, event: SeenEvent): Persisted {
  switch (event.type) {
    case 'task.expanded':
      if (!event.data.begins) return state;
      return taskFold.next(state, { type: 'task.scheduled', attempt: event.data.attempt });
    case 'task.spread':
      return taskFold.next(state, { type: 'task.scheduled', attempt: event.data.attempt });
    case 'task.scheduled':
    case 'task.completed':
    case 'task.failed':
    case 'task.timed-out':
    case 'task.retry-scheduled':
      return taskFold.next(state, { type: event.type, attempt: event.data.attempt });
    case 'task.abandoned':
    case 'task.skipped':
    case 'task.cancelled':
      return taskFold.next(state, { type: event.type });
    default:
      return state;
  }
}

/** How often the task was given to its pool. */
export const attemptsOf = (state: Persisted): number => Number(state.context.attempt ?? 0);
