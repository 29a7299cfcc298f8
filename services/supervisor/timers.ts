/**
 * The supervisor's timers: one for the session, one for each attempt that runs, one for each wait
 * before the next. Which are wanted follows from the state alone; those that are set and not wanted
 * are taken back.
 */

import { event } from '../../schemas/event.ts';
import { sessionIsOver } from '../../state-machines/session/session-machine.ts';
import { attemptsOf } from '../../state-machines/task/task-machine.ts';
import { sha256 } from '../chassis/protocol/hash.ts';
import type { Proposal } from '../chassis/protocol/proposal.ts';
import { isComposite, isWaiting, type SupervisorState, type TaskState } from './state.ts';

const prefix = 'supervisor/';
export const sessionTimer = `${prefix}session`;
const nameCharactersMax = 128;

export const isOwnTimer = (timer: string): boolean => timer.startsWith(prefix);

function nameOf(kind: 'task' | 'retry' | 'wake', task: string, attempt: number): string {
  const name = `${prefix}${kind}/${task}/${attempt}`;
  if (name.length <= nameCharactersMax) return name;
  return `${prefix}${kind}/${sha256(task).slice(0, 32)}/${attempt}`;
}

/** The timer that the task waits for, whether it fired or not. */
export function timerOf(task: TaskState): string | undefined {
  const attempts = attemptsOf(task.machine);
  // A task that is made of others has no time of its own, but for the deadline of a loop.
  if (isComposite(task) && task.definition.loop?.exit.deadlineMs === undefined) return undefined;
  if (task.machine.value === 'scheduled') return nameOf('task', task.definition.id, attempts);
  if (task.machine.value === 'retrying') return nameOf('retry', task.definition.id, attempts + 1);
  return undefined;
}

/** The timer that wakes a loop by time; one for each iteration. */
export const wakeTimerOf = ({ definition, loop }: TaskState): string =>
  nameOf('wake', definition.id, (loop?.iterations ?? 0) + 1);

type Wanted = readonly (readonly [timer: string, dueAtMs: number])[];

/** What a task wants follows from it alone, and most are as they were at the decision before. */
const known = new WeakMap<TaskState, Wanted>();

function wantedOf(task: TaskState): Wanted {
  const kept = known.get(task);
  if (kept !== undefined) return kept;
  const wanted: (readonly [string, number])[] = [];
  const timer = timerOf(task);
  if (timer !== undefined && task.fired === null && !isWaiting(task))
    wanted.push([timer, task.dueAtMs]);
  const wakeAtMs = task.machine.value === 'scheduled' ? task.loop?.wakeAtMs : undefined;
  if (typeof wakeAtMs === 'number') wanted.push([wakeTimerOf(task), wakeAtMs]);
  known.set(task, wanted);
  return wanted;
}

function wantedTimers(state: SupervisorState): ReadonlyMap<string, number> {
  const wanted = new Map<string, number>();
  if (sessionIsOver(state.session)) return wanted;
  if (state.timeoutAtMs !== null && state.stop === null)
    wanted.set(sessionTimer, state.timeoutAtMs);
  for (const task of state.tasks)
    for (const [timer, dueAtMs] of wantedOf(task)) wanted.set(timer, dueAtMs);
  return wanted;
}

/** Sets what is wanted and not set, takes back what is set and not wanted. */
export function alignTimers(proposal: Proposal<SupervisorState>): void {
  const wanted = wantedTimers(proposal.state);
  const set = new Map(proposal.state.timers);
  for (const timer of set.keys()) {
    if (!wanted.has(timer)) proposal.write(event('timer.cancelled', { timer }));
  }
  for (const [timer, dueAtMs] of wanted) {
    if (set.get(timer) !== dueAtMs) proposal.write(event('timer.set', { timer, dueAtMs }));
  }
}
