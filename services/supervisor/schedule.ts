/** Which tasks may begin now, in which order, with which input; and which never can. */

import { event, json } from '../../schemas/event.ts';
import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import { attemptsOf } from '../../state-machines/task/task-machine.ts';
import { LongreinError } from '../chassis/errors.ts';
import { compileTemplate } from '../chassis/expressions/template.ts';
import type { Proposal } from '../chassis/protocol/proposal.ts';
import { abandon, findTask } from './retry.ts';
import { isRunning, isSettled, type SupervisorState, type TaskState } from './state.ts';

/** Schedules every task that can begin: higher priority first, then in the order of the plan. */
export function scheduleDue(proposal: Proposal<SupervisorState>, nowMs: number): void {
  skipUnreachable(proposal);
  for (const id of dueTasks(proposal.state)) {
    if (isRunning(proposal.state)) scheduleTask(proposal, id, nowMs);
  }
  skipUnreachable(proposal);
}

/** A task whose need is settled without an output cannot run; nor can those that need it. */
function skipUnreachable(proposal: Proposal<SupervisorState>): void {
  let skipped = isRunning(proposal.state);
  while (skipped) {
    skipped = false;
    const values = valuesOf(proposal.state);
    for (const task of proposal.state.tasks) {
      const because = task.definition.needs.find((need) => isLost(values.get(need)));
      if (task.machine.value !== 'pending' || because === undefined) continue;
      proposal.write(event('task.skipped', { task: task.definition.id, because }));
      skipped = true;
    }
  }
}

const isLost = (value: string | undefined): boolean =>
  value === 'abandoned' || value === 'skipped' || value === 'cancelled';

const valuesOf = (state: SupervisorState): ReadonlyMap<string, string> =>
  new Map(state.tasks.map((task) => [task.definition.id, task.machine.value]));

function dueTasks(state: SupervisorState): readonly string[] {
  if (!isRunning(state)) return [];
  const values = valuesOf(state);
  return state.tasks
    .filter((task) => isDue(task, values))
    .sort((one, other) => other.definition.priority - one.definition.priority)
    .map((task) => task.definition.id);
}

function isDue(task: TaskState, values: ReadonlyMap<string, string>): boolean {
  if (task.machine.value === 'retrying') return task.fired !== null;
  if (task.machine.value !== 'pending') return false;
  return task.definition.needs.every((need) => values.get(need) === 'completed');
}

function scheduleTask(proposal: Proposal<SupervisorState>, id: string, nowMs: number): void {
  const task = findTask(proposal.state, id);
  if (task === undefined || isSettled(task)) return;
  const input = inputOf(proposal.state, task);
  if (input instanceof LongreinError) {
    abandon(proposal, task, { code: 'EXPRESSION', class: 'expression', message: input.message });
    return;
  }
  const { pool, agent, priority, timeoutMs } = task.definition;
  const attempt = attemptsOf(task.machine) + 1;
  const data = { task: id, attempt, pool, agent, priority, deadlineAtMs: nowMs + timeoutMs };
  proposal.write(event('task.scheduled', data, { input: json(input) }));
}

/** The task's input, or the error of the plan's expression for it. */
function inputOf(state: SupervisorState, task: TaskState): JsonValue | LongreinError {
  const { id, needs, input } = task.definition;
  const outputs = state.tasks
    .filter((other) => needs.includes(other.definition.id))
    .map((other): [string, JsonValue] => [other.definition.id, other.output]);
  const tasks: JsonObject = Object.fromEntries(outputs);
  const { goal, inputs, context } = state.scope ?? { goal: null, inputs: {}, context: {} };
  try {
    const where = `plan ${state.plan}, task ${id}, input`;
    return compileTemplate(input, where).evaluate({ goal, inputs, context, tasks });
  } catch (thrown) {
    if (thrown instanceof LongreinError && thrown.code.startsWith('EXPRESSION_')) return thrown;
    throw thrown;
  }
}
