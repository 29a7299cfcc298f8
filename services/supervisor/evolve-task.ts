/**
 * The fold of one task of the plan: its machine, and what the next decision needs of its events.
 */

import type { AgentDefinition } from '../../schemas/definitions/agent.ts';
import type { PlanDefinition, TaskDefinition } from '../../schemas/definitions/plan.ts';
import { bodyOf, type SeenEvent, textOf } from '../../schemas/event.ts';
import type { Persisted } from '../../state-machines/fold.ts';
import { attemptsOf, foldTask, taskFold } from '../../state-machines/task/task-machine.ts';
import { resumesAttempts } from '../chassis/catalog/agent-form.ts';
import { memberOf } from '../chassis/effects/member.ts';
import { addressOf } from '../chassis/protocol/service-logic.ts';
import { bornBy } from './children.ts';
import { evolveDelegated, evolveSetAside, withoutEnded } from './delegation.ts';
import { spreadAt } from './evolve-sessions.ts';
import { iterated, noLoop } from './loop.ts';
import { climbed, divertedTo } from './recovery.ts';
import { isComposite, type LoopState, type SupervisorState, type TaskState } from './state.ts';

export function newTask(
  definition: TaskDefinition,
  plan: PlanDefinition,
  agents: Readonly<Record<string, AgentDefinition>>,
): TaskState {
  const agent = memberOf(agents, definition.agent);
  return {
    ...(resumesAttempts(agent) ? { resumes: true } : {}),
    definition,
    machine: taskFold.initial(),
    needed:
      plan.replan !== undefined || plan.tasks.some((other) => other.needs.includes(definition.id)),
    dueAtMs: 0,
    fired: null,
    failure: null,
    output: null,
  };
}

/** Events of tasks, of the plan and of agents. */
export function evolveWork(state: SupervisorState, event: SeenEvent): SupervisorState {
  if (event.type === 'task.delegated') return evolveDelegated(state, event);
  if (event.type === 'budget.set-aside') return evolveSetAside(state, event);
  if (event.type === 'permit.returned')
    return state.delegating === undefined ? state : withoutEnded(state);
  const next = evolveTask(state, event);
  return next === state || next.delegating === undefined ? next : withoutEnded(next);
}

/**
 * The state after an event that names a task; the same object when the task's machine refuses it.
 */
function evolveTask(state: SupervisorState, event: SeenEvent): SupervisorState {
  if (!event.type.startsWith('task.') || !('task' in event.data)) return state;
  const { task: id } = event.data;
  const at = state.tasks.findIndex((task) => task.definition.id === id);
  const task = state.tasks[at];
  if (task === undefined) return state;
  if (event.type === 'task.expanded') return expanded(state, at, event);
  if (event.type === 'task.diverted')
    return { ...state, tasks: state.tasks.with(at, { ...task, ...divertedTo(task, event) }) };
  const machine = foldTask(task.machine, event);
  if (machine === task.machine) return state;
  const next = { ...state, tasks: state.tasks.with(at, afterEvent(task, machine, event)) };
  if (isComposite(task)) return withoutChildren(next, task);
  return task.child?.kind === 'iteration' ? afterIteration(next, task.child.of, event) : next;
}

/** Nothing is made of a task that ended. */
function expanded(
  state: SupervisorState,
  at: number,
  event: SeenEvent<'task.expanded'>,
): SupervisorState {
  const task = state.tasks[at] as TaskState;
  const { first, count, kind, begins, deadlineAtMs } = event.data;
  const machine = foldTask(task.machine, event);
  if (machine.value !== 'scheduled' || first !== (task.children ?? 0) + 1) return state;
  if (begins !== (task.children === undefined) || (!begins && count === 0)) return state;
  const born = bornBy(task, event);
  const loop = kind === 'iteration' ? loopAfter(state, task, born) : undefined;
  const parent: TaskState = {
    ...task,
    machine,
    children: first - 1 + count,
    ...(begins ? { dueAtMs: deadlineAtMs ?? 0, fired: null } : {}),
    ...(loop === undefined ? {} : { loop }),
  };
  // Of a loop only the newest iteration is looked at.
  const kept = kind === 'iteration' ? withoutChildren(state, task).tasks : state.tasks;
  const tasks = kept.map((one) => (one === task ? parent : one));
  return { ...state, tasks: [...tasks, ...born] };
}

function loopAfter(state: SupervisorState, task: TaskState, born: readonly TaskState[]): LoopState {
  const { loop = noLoop } = task;
  const [iteration] = born;
  if (iteration?.child === undefined) return loop;
  return iterated(loop, iteration.child.scope, state.spentNanoUsd ?? 0);
}

function withoutChildren(state: SupervisorState, { definition }: TaskState): SupervisorState {
  const ended = state.tasks.find((task) => task.definition.id === definition.id);
  const loops = definition.loop !== undefined;
  if (ended?.machine.value === 'scheduled' && !loops) return state;
  const tasks = state.tasks.filter(({ child }) => child?.of !== definition.id);
  return tasks.length === state.tasks.length ? state : { ...state, tasks };
}

/** The wait before the next iteration counts from the end of the last. */
function afterIteration(state: SupervisorState, of: string, event: SeenEvent): SupervisorState {
  if (event.type !== 'task.completed') return state;
  const tasks = state.tasks.map((task) => {
    const everyMs = task.definition.id === of ? task.definition.loop?.wake.everyMs : undefined;
    if (everyMs === undefined || task.loop === undefined) return task;
    return { ...task, loop: { ...task.loop, wakeAtMs: event.atMs + everyMs } };
  });
  return { ...state, tasks };
}

function afterEvent(before: TaskState, machine: Persisted, event: SeenEvent): TaskState {
  const task = withoutSpread({ ...before, machine });
  switch (event.type) {
    case 'task.spread':
      return { ...task, spread: spreadAt(event) };
    case 'task.scheduled': {
      const { waiting: _before, ...rest } = task;
      return { ...rest, dueAtMs: event.data.deadlineAtMs, fired: null, failure: null };
    }
    case 'task.retry-scheduled':
      return { ...task, ...climbed(task, event), dueAtMs: event.data.dueAtMs, fired: null };
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

/** Nobody asks what its branches came to once it ended. */
function withoutSpread({ spread: _over, ...task }: TaskState): TaskState {
  return task;
}

function timeoutOf(task: TaskState): TaskState['failure'] {
  const { id, timeoutMs, attemptsMax } = task.definition;
  const attempt = `attempt ${attemptsOf(task.machine)} of ${attemptsMax}`;
  const message = `Task "${id}" did not end within ${timeoutMs} ms (${attempt}).`;
  const seed = task.fired ?? id;
  return { code: 'TASK_TIMED_OUT', class: 'timeout', retryable: true, message, seed };
}
