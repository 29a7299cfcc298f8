/**
 * Tasks that agents made: work that one gave to another. They are scheduled, tried again, timed out and cancelled like
 * those of the plan.
 *
 * H1 A delegated task lives no longer than the attempt that made it, and has no more time than that has left.
 * H2 A task that was handed on comes to what the task comes to that was made of it.
 * H3 Where a budget holds, the gateway sets a part of it aside first; where nothing is left, the task is given up.
 * H4 A delegate takes no place of its own in a pool with limits: it works on that of who waits for it. Else two of them
 *    could wait for each other. It asks its pool only where its template has a breaker (pool/guests.ts).
 */

import type { AgentDefinition } from '../../schemas/definitions/agent.ts';
import type { PlanDefinition } from '../../schemas/definitions/plan.ts';
import { bodyOf, type DataOf, event, json, type SeenEvent, text } from '../../schemas/event.ts';
import { attemptsOf, taskFold } from '../../state-machines/task/task-machine.ts';
import { resumesAttempts } from '../chassis/catalog/agent-form.ts';
import { taskOfPlan } from '../chassis/catalog/child-task.ts';
import { givesTo } from '../chassis/catalog/plan-agents.ts';
import { memberOf } from '../chassis/effects/member.ts';
import type { Proposal } from '../chassis/protocol/proposal.ts';
import { policyOf } from './recovery.ts';
import {
  findTask,
  isRunning,
  isSettled,
  isWaiting,
  type SupervisorState,
  type TaskState,
} from './state.ts';

type Delegated = SeenEvent<'task.delegated'>;
type Agents = Readonly<Record<string, AgentDefinition>>;

/** Nothing where no agent of the plan gives work away: such sessions stay as they were. */
export function delegatingOf(
  { origin }: SupervisorState,
  { tasks }: PlanDefinition,
  agents: Agents,
): Pick<SupervisorState, 'delegating'> {
  const all = Object.values(agents);
  if (!all.some((agent) => givesTo(agent).length > 0)) return {};
  const budgetedTasks = tasks.flatMap(({ id, budgetNanoUsd }) =>
    budgetNanoUsd === undefined ? [] : [id],
  );
  const resuming = all.filter(resumesAttempts).map(({ name }) => name);
  return { delegating: { budgeted: origin?.budgeted === true, budgetedTasks, resuming } };
}

const runs = (task: TaskState | undefined, attempt: number): task is TaskState =>
  task?.machine.value === 'scheduled' && attemptsOf(task.machine) === attempt;

/** The state after an agent made a task; the same object where its attempt is over. */
export function evolveDelegated(state: SupervisorState, seen: Delegated): SupervisorState {
  const { task: of, attempt, delegated } = seen.data;
  const at = state.tasks.findIndex(({ definition }) => definition.id === of);
  const parent = state.tasks[at];
  if (!runs(parent, attempt) || findTask(state, delegated) !== undefined) return state;
  const tasks = [...state.tasks, taskOf(state, parent, seen)];
  const tells = seen.data.kind === 'handoff' && policyOf(state, parent)?.given === true;
  if (!tells) return { ...state, tasks };
  return { ...state, tasks: tasks.with(at, { ...parent, handedOn: attempt }) };
}

function taskOf(state: SupervisorState, parent: TaskState, seen: Delegated): TaskState {
  const { delegated: id, kind, to, ordinal, attempt, timeoutMs, parallelMax } = seen.data;
  const { fanOut: _fan, review: _review, loop: _loop, ...rest } = parent.definition;
  const { budgetNanoUsd: _own, ...definition } = rest;
  const asks = kind === 'delegate' && isBudgeted(state, parent, seen.data);
  return {
    ...(state.delegating?.resuming.includes(to) === true ? { resumes: true } : {}),
    definition: {
      ...{ ...definition, id, agent: to, needs: [], input: null, onFailure: 'continue' },
      timeoutMs: Math.min(timeoutMs ?? rest.timeoutMs, rest.timeoutMs),
    },
    machine: taskFold.initial(),
    needed: kind === 'handoff',
    ...{ dueAtMs: 0, fired: null, failure: null, output: null },
    child: { of: parent.definition.id, kind, ordinal, scope: {} },
    delegation: {
      ...{
        attempt,
        input: bodyOf(seen.content.input),
        budgeted: isBudgeted(state, parent, seen.data),
      },
      ...(parallelMax === undefined ? {} : { parallelMax }),
      ...(asks ? { purse: 'asked' as const } : {}),
    },
  };
}

/** Whether anything limits what the work may cost. */
function isBudgeted(
  state: SupervisorState,
  { definition, delegation }: TaskState,
  { budgetNanoUsdMax }: DataOf<'task.delegated'>,
): boolean {
  return (
    state.delegating?.budgeted === true ||
    budgetNanoUsdMax !== undefined ||
    delegation?.budgeted === true ||
    state.delegating?.budgetedTasks.includes(taskOfPlan(definition.id)) === true
  );
}

/** The state after the gateway set money aside. */
export function evolveSetAside(
  state: SupervisorState,
  { data }: SeenEvent<'budget.set-aside'>,
): SupervisorState {
  const at = state.tasks.findIndex(({ definition }) => definition.id === data.task);
  const task = state.tasks[at];
  if (task?.delegation?.purse !== 'asked') return state;
  const purse = data.setAsideNanoUsd > 0 ? ('given' as const) : ('empty' as const);
  const next = { ...task, delegation: { ...task.delegation, purse } };
  return { ...state, tasks: state.tasks.with(at, next) };
}

/** The state without delegated tasks that nobody needs any more: they ended, and so did whoever would ask. */
export function withoutEnded(state: SupervisorState): SupervisorState {
  const over = ({ definition, delegation, child, machine }: TaskState): boolean => {
    if (delegation === undefined || !isSettled({ machine })) return false;
    // Its pool has not been told yet how it ended.
    if (memberOf(state.permits ?? {}, definition.id) !== undefined) return false;
    if (child?.kind === 'delegate') return true;
    return !runs(findTask(state, child?.of ?? ''), delegation.attempt);
  };
  const tasks = state.tasks.filter((task) => !over(task));
  return tasks.length === state.tasks.length ? state : { ...state, tasks };
}

/** The attempts that wait for this one, one above the other, itself first. */
export function chainOf(
  state: SupervisorState,
  of: Readonly<{ task: string; attempt: number }>,
): readonly Readonly<{ task: string; attempt: number }>[] {
  const { delegation, child } = findTask(state, of.task) ?? {};
  if (delegation === undefined || child === undefined) return [of];
  return [of, ...chainOf(state, { task: child.of, attempt: delegation.attempt })];
}

/** Whether a delegated task may be scheduled as far as who made it goes. */
export function mayBegin({ tasks }: SupervisorState, task: TaskState): boolean {
  const { delegation, child } = task;
  if (delegation === undefined || delegation.purse === 'asked' || delegation.purse === 'empty')
    return false;
  const parent = tasks.find(({ definition }) => definition.id === child?.of);
  return runs(parent, delegation.attempt);
}

/** What stays of these when each agent has no more delegates at work than it may. */
export function withinDelegates(
  { tasks }: SupervisorState,
  due: readonly TaskState[],
): readonly TaskState[] {
  if (!due.some(({ delegation }) => delegation?.parallelMax !== undefined)) return due;
  const busy = new Map<string, number>();
  const count = (of: string) => busy.set(of, (busy.get(of) ?? 0) + 1);
  for (const { child, machine } of tasks) {
    if (child?.kind === 'delegate' && ['scheduled', 'failed', 'retrying'].includes(machine.value))
      count(child.of);
  }
  return due.filter(({ child, delegation, machine }) => {
    const most = delegation?.parallelMax;
    if (child === undefined || most === undefined || machine.value === 'retrying') return true;
    if ((busy.get(child.of) ?? 0) >= most) return false;
    count(child.of);
    return true;
  });
}

/** When an attempt of the task has to be over: never after those that wait for it (H1). */
export function deadlineOf(state: SupervisorState, task: TaskState, nowMs: number): number {
  const own = nowMs + task.definition.timeoutMs;
  const parent = task.delegation && findTask(state, task.child?.of ?? '');
  if (parent === undefined) return own;
  // The time of one that waits for a person stands still.
  const stoodMs = isWaiting(parent) ? Math.max(0, nowMs - (parent.waiting?.sinceMs ?? nowMs)) : 0;
  return Math.min(own, parent.dueAtMs + stoodMs);
}

/** Stops delegated tasks whose agent is gone, gives up those without money, and ends those that were handed on. */
export function settleDelegations(proposal: Proposal<SupervisorState>): void {
  const { delegating, tasks } = proposal.state;
  if (delegating === undefined || !isRunning(proposal.state)) return;
  // In the order in which they were made: what is stopped stops what it made itself.
  for (const { definition } of tasks) {
    const task = findTask(proposal.state, definition.id);
    if (task?.delegation === undefined) continue;
    if (isSettled(task)) endHandedOn(proposal, task);
    else stopOrGiveUp(proposal, task);
  }
}

function stopOrGiveUp(proposal: Proposal<SupervisorState>, task: TaskState): void {
  const { delegation, child, machine, definition } = task;
  const parent = findTask(proposal.state, child?.of ?? '');
  if (!runs(parent, delegation?.attempt ?? 0)) {
    const data = { task: definition.id, attempt: attemptsOf(machine) };
    proposal.write(event('task.cancelled', data));
    return;
  }
  if (delegation?.purse !== 'empty') return;
  const message =
    `Nothing is left of the budget that "${definition.agent}" could spend on this. ` +
    'Finish without it, or raise the budget of the goal or the task, or costNanoUsdMax of the agent.';
  const data = {
    task: definition.id,
    attempts: 0,
    code: 'DELEGATION_BUDGET',
    class: 'budget',
  } as const;
  proposal.write(event('task.abandoned', data, { message: text(message) }));
}

/** H2. */
function endHandedOn(proposal: Proposal<SupervisorState>, task: TaskState): void {
  const { delegation, child, machine, definition } = task;
  const parent = findTask(proposal.state, child?.of ?? '');
  if (child?.kind !== 'handoff' || !runs(parent, delegation?.attempt ?? 0)) return;
  const attempt = attemptsOf(parent.machine);
  const agent = `${definition.id}.${attemptsOf(machine)}`;
  const head = { task: parent.definition.id, attempt, agent };
  if (machine.value === 'completed') {
    proposal.write(event('task.completed', head, { output: json(task.output) }));
    return;
  }
  const { code = 'TASK_ABANDONED', class: kind = 'limit', message = '' } = task.failure ?? {};
  const said = `Agent "${definition.agent}", to which the task was handed on, failed: ${message}`;
  const data = { ...head, code, class: kind, retryable: false };
  proposal.write(event('task.failed', data, { message: text(said) }));
}
