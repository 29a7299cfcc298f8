/**
 * What follows from an attempt that did not succeed: time-outs, a further attempt, or the end of
 * the task.
 */

import { event, text } from '../../schemas/event.ts';
import { attemptsOf } from '../../state-machines/task/task-machine.ts';
import { sha256 } from '../chassis/protocol/hash.ts';
import type { Proposal } from '../chassis/protocol/proposal.ts';
import { failIfAbandoned } from './finish.ts';
import { nextRung, policyOf, reasonOf, withEnd } from './recovery.ts';
import {
  findTask,
  isComposite,
  isRunning,
  type SupervisorState,
  type TaskFailure,
  type TaskState,
} from './state.ts';

/** Doubling stops here, so that many attempts never mean a wait of days that nobody asked for. */
export const backoffCapMs = 3_600_000;

/**
 * The wait in milliseconds before the attempt after `attempt`: doubles with each one, times a
 * factor in [0.5, 1.5) that follows from `seed`, so that tasks that failed together do not come
 * back together.
 */
export function backoffOf(backoffMs: number, attempt: number, seed: string): number {
  const doubled = backoffMs * 2 ** Math.min(attempt - 1, 40);
  const capped = Math.min(doubled, Math.max(backoffMs, backoffCapMs));
  const factor = 0.5 + Number.parseInt(sha256(seed).slice(0, 8), 16) / 2 ** 32;
  return Math.floor(capped * factor);
}

/** Answers every attempt that failed or passed its deadline. */
export function settleAttempts(proposal: Proposal<SupervisorState>, nowMs: number): void {
  for (const { definition, machine, fired } of proposal.state.tasks) {
    if (!isRunning(proposal.state)) return;
    if (machine.value !== 'failed' && fired === null) continue;
    timeOut(proposal, definition.id);
    settleFailure(proposal, definition.id, nowMs);
  }
}

function timeOut(proposal: Proposal<SupervisorState>, id: string): void {
  const task = findTask(proposal.state, id);
  if (task?.machine.value !== 'scheduled' || task.fired === null || isComposite(task)) return;
  const attempt = attemptsOf(task.machine);
  proposal.write(event('task.timed-out', { task: id, attempt, deadlineAtMs: task.dueAtMs }));
}

function settleFailure(proposal: Proposal<SupervisorState>, id: string, nowMs: number): void {
  const task = findTask(proposal.state, id);
  if (task?.machine.value !== 'failed' || task.failure === null) return;
  if (heals(proposal, task, nowMs)) return;
  const attempt = attemptsOf(task.machine);
  const { backoffMs, attemptsMax } = task.definition;
  const another = task.failure.retryable && attempt < attemptsMax && !isComposite(task);
  if (!another || (task.acted === true && task.resumes !== true)) {
    abandon(proposal, task, another ? withReason(task.failure) : task.failure);
    return;
  }
  const dueAtMs = nowMs + backoffOf(backoffMs, attempt, task.failure.seed);
  const next = { task: id, attempt: attempt + 1, dueAtMs, code: task.failure.code };
  proposal.write(event('task.retry-scheduled', next));
}

/** Whether the error policy of the task's agent has the say, and has said what follows. */
function heals(proposal: Proposal<SupervisorState>, task: TaskState, nowMs: number): boolean {
  const { failure } = task;
  const policy = policyOf(proposal.state, task);
  if (policy?.ladder !== true || failure === null) return false;
  const rung = nextRung(policy, task, failure);
  if (rung === undefined) {
    abandon(proposal, task, withEnd(task, failure));
    return true;
  }
  const attempt = attemptsOf(task.machine);
  const { backoffMs } = task.definition;
  const waitMs = rung.step === 'restart' ? backoffOf(backoffMs, attempt, failure.seed) : 0;
  const next = { task: task.definition.id, attempt: attempt + 1, dueAtMs: nowMs + waitMs };
  const data = { ...next, code: failure.code, recovery: { ...rung, class: failure.class } };
  const reason = reasonOf(policy, task, { rung, failure });
  proposal.write(event('task.retry-scheduled', data, { reason: text(reason) }));
  return true;
}

/** A further attempt would start from the first step, and repeat what must not be repeated. */
const withReason = (failure: TaskFailure): TaskFailure => ({
  ...failure,
  message: `${failure.message} It is not tried again, because it made a call that must not be made twice.`,
});

/** Gives a task up; the session fails with it where the plan says so. */
export function abandon(
  proposal: Proposal<SupervisorState>,
  task: TaskState,
  failure: Omit<TaskFailure, 'retryable' | 'seed'>,
): void {
  const { code, class: kind, message } = failure;
  const attempts = attemptsOf(task.machine);
  const data = { task: task.definition.id, attempts, code, class: kind };
  proposal.write(event('task.abandoned', data, { message: text(message) }));
  failIfAbandoned(proposal);
}
