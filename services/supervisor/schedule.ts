/** Which tasks may begin now, in which order, with which input; and which never can. */

import { event, json } from '../../schemas/event.ts';
import type { JsonValue } from '../../schemas/json.ts';
import { attemptsOf } from '../../state-machines/task/task-machine.ts';
import { LongreinError } from '../chassis/errors.ts';
import type { Proposal } from '../chassis/protocol/proposal.ts';
import { expand, inputOfChild } from './children.ts';
import { deadlineOf, mayBegin, withinDelegates } from './delegation.ts';
import { branchScopes } from './fan-out.ts';
import { askForLeave, leaveOf } from './pool/permits.ts';
import { toldTo, workerOf } from './recovery.ts';
import { abandon } from './retry.ts';
import { firstRound } from './review.ts';
import { isRevising } from './revise.ts';
import { evaluateIn, expressionFailure } from './scope.ts';
import { beginSpread, isWide } from './spread.ts';
import {
  findTask,
  isComposite,
  isRunning,
  isSettled,
  type SupervisorState,
  type TaskState,
} from './state.ts';

/** Schedules every task that can begin: higher priority first, then in the order of the plan. */
export function scheduleDue(proposal: Proposal<SupervisorState>, nowMs: number): void {
  skipUnreachable(proposal);
  const asking: TaskState[] = [];
  for (const id of dueTasks(proposal.state)) {
    const task = findTask(proposal.state, id);
    if (task === undefined || isSettled(task) || !isRunning(proposal.state)) continue;
    if (isComposite(task)) begin(proposal, task, nowMs);
    else if (hasLeave(proposal, task, asking)) scheduleTask(proposal, task, nowMs);
  }
  if (isRunning(proposal.state)) askForLeave(proposal, asking);
  skipUnreachable(proposal);
}

/** Whether the attempt may begin; else its pool is asked, or was and never will answer. */
function hasLeave(
  proposal: Proposal<SupervisorState>,
  task: TaskState,
  asking: TaskState[],
): boolean {
  const leave = leaveOf(proposal.state, task);
  if (leave === 'ask') asking.push(task);
  if (leave === 'refused') {
    const { id, pool } = task.definition;
    const message = `Task "${id}" could not ask the pool "${pool}" for a place: its log takes no more.`;
    abandon(proposal, task, { code: 'POOL_UNREACHABLE', class: 'limit', message });
  }
  return leave === 'given';
}

/** A task whose need is settled without an output cannot run; nor can those that need it. */
function skipUnreachable(proposal: Proposal<SupervisorState>): void {
  // Whether it is lost for good is being asked.
  let skipped = isRunning(proposal.state) && !isRevising(proposal.state);
  while (skipped) {
    skipped = false;
    const waiting = proposal.state.tasks.filter(({ machine }) => machine.value === 'pending');
    if (waiting.length === 0) return;
    const values = valuesOf(proposal.state);
    for (const task of waiting) {
      const because = task.definition.needs.find((need) => isLost(values.get(need)));
      if (because === undefined) continue;
      proposal.write(event('task.skipped', { task: task.definition.id, because }));
      skipped = true;
    }
  }
}

const isLost = (value: string | undefined): boolean =>
  value === 'abandoned' || value === 'skipped' || value === 'cancelled';

type Values = ReadonlyMap<string, string>;

/** One decision asks for those of the same tasks several times. */
const knownValues = new WeakMap<SupervisorState['tasks'], Values>();

function valuesOf({ tasks }: SupervisorState): Values {
  const kept = knownValues.get(tasks);
  if (kept !== undefined) return kept;
  const values = new Map(tasks.map((task) => [task.definition.id, task.machine.value]));
  knownValues.set(tasks, values);
  return values;
}

const waits = new Set(['pending', 'retrying']);

function dueTasks(state: SupervisorState): readonly string[] {
  if (!isRunning(state)) return [];
  const waiting = state.tasks.filter(({ machine }) => waits.has(machine.value));
  if (waiting.length === 0) return [];
  const values = valuesOf(state);
  const due = waiting
    .filter((task) => isDue(state, task, values))
    .sort((one, other) => other.definition.priority - one.definition.priority);
  const ready = withinDelegates(state, withinParallel(state, due));
  return ready.map((task) => task.definition.id);
}

const running = new Set(['scheduled', 'failed', 'retrying']);

/** Of a fan-out, only so many branches run at a time. One that is tried again has its place already. */
function withinParallel(state: SupervisorState, due: readonly TaskState[]): readonly TaskState[] {
  if (!due.some(({ child }) => child?.kind === 'branch')) return due;
  const free = new Map<string, number>();
  for (const { definition, machine, child } of state.tasks) {
    if (definition.fanOut !== undefined) {
      const places = definition.fanOut.parallelMax + (free.get(definition.id) ?? 0);
      free.set(definition.id, places);
    } else if (child !== undefined && running.has(machine.value)) {
      free.set(child.of, (free.get(child.of) ?? 0) - 1);
    }
  }
  return due.filter(({ child, machine }) => {
    if (child?.kind !== 'branch' || machine.value === 'retrying') return true;
    const places = free.get(child.of) ?? 0;
    free.set(child.of, places - 1);
    return places > 0;
  });
}

function isDue(
  state: SupervisorState,
  task: TaskState,
  values: ReadonlyMap<string, string>,
): boolean {
  if (task.machine.value === 'retrying') return task.fired !== null;
  if (task.machine.value !== 'pending') return false;
  if (task.delegation !== undefined) return mayBegin(state, task);
  if (task.child !== undefined) return values.get(task.child.of) === 'scheduled';
  if (isRevising(state)) return false;
  return task.definition.needs.every((need) => values.get(need) === 'completed');
}

function scheduleTask(proposal: Proposal<SupervisorState>, task: TaskState, nowMs: number): void {
  const input = inputOf(proposal.state, task);
  if (input instanceof LongreinError) {
    abandon(proposal, task, expressionFailure(input));
    return;
  }
  const { id, pool, priority } = task.definition;
  const deadlineAtMs = deadlineOf(proposal.state, task, nowMs);
  const attempt = attemptsOf(task.machine) + 1;
  const { data: recovered, content: told } = toldTo(proposal.state, task);
  const agent = workerOf(task);
  const data = { task: id, attempt, pool, agent, priority, deadlineAtMs };
  const content = { input: json(input), ...told };
  proposal.write(event('task.scheduled', { ...data, ...recovered }, content));
}

/** The first children of a task that is made of others; a loop begins without any, and may wait to be woken. */
function begin(proposal: Proposal<SupervisorState>, task: TaskState, nowMs: number): void {
  const { fanOut, review, loop } = task.definition;
  if (loop !== undefined) {
    const { deadlineMs } = loop.exit;
    const deadlineAtMs = deadlineMs === undefined ? undefined : nowMs + deadlineMs;
    expand(proposal, task, { kind: 'iteration', scopes: [], deadlineAtMs });
    return;
  }
  if (review !== undefined) {
    expand(proposal, task, { kind: 'work', scopes: [firstRound] });
    return;
  }
  if (fanOut === undefined) return;
  const scopes = branchScopes(proposal.state, task.definition, fanOut);
  if (!(scopes instanceof LongreinError)) {
    if (isWide(fanOut, scopes.length)) beginSpread(proposal, task, { fanOut, scopes });
    else expand(proposal, task, { kind: 'branch', scopes });
    return;
  }
  const { code, message } = scopes;
  const limit = { code, class: 'limit', message } as const;
  abandon(proposal, task, code === 'FAN_OUT_TOO_WIDE' ? limit : expressionFailure(scopes));
}

/** The task's input, or the error of the plan's expression for it. A child sees what its task sees, and its own scope. */
function inputOf(
  state: SupervisorState,
  { definition, child, delegation }: TaskState,
): JsonValue | LongreinError {
  if (delegation !== undefined) return delegation.input;
  const of = child === undefined ? undefined : findTask(state, child.of)?.definition;
  if (child === undefined || of === undefined) {
    return evaluateIn(state, { task: definition, member: 'input', template: definition.input });
  }
  const member = child.kind === 'review' ? 'review.input' : 'input';
  const template = inputOfChild(of, child);
  return evaluateIn(state, { task: of, member, template, more: child.scope });
}
