import { LongreinError } from '../../services/chassis/errors.ts';
import { firstFailureOf } from '../first-failure/first-failure.ts';
import type { Happening, History } from '../read/history.ts';

/** From where a failed session is tried again. */

function lastAttempt(history: History, task: string): Happening {
  const schedules = history.ofType('task.scheduled');
  const last = schedules.findLast(({ scope }) => scope.task === task);
  if (last !== undefined) return atTurn(history, last);
  const known = [...new Set(schedules.map(({ scope }) => scope.task ?? ''))].join(', ');
  throw new LongreinError('TASK_UNKNOWN', `${history.session} never began a task ${task}`, {
    fix: known === '' ? 'it began none' : `it began: ${known}`,
  });
}

/** The first event of its record: a turn is decided as a whole. */
const atTurn = (history: History, one: Happening): Happening =>
  history.ofRecord(one.event.record)[0] ?? one;

/**
 * The failed step: what made the failure inevitable, or the last attempt at a task. Throws LongreinError TASK_UNKNOWN,
 * SESSION_NOT_FAILED, SESSION_RUNNING.
 */
export function retryPoint(history: History, task?: string): Happening {
  const { first } = firstFailureOf(history);
  return task === undefined ? atTurn(history, first) : lastAttempt(history, task);
}
