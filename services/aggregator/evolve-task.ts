/** The fold of the tasks whose outputs are joined: those of the plan, as it is now. */

import type { PlanDefinition } from '../../schemas/definitions/plan.ts';
import { bodyOf, type SeenEvent } from '../../schemas/event.ts';
import { foldTask, taskFold } from '../../state-machines/task/task-machine.ts';
import { evolveBranch, withPart } from './progress.ts';
import type { AggregatorState } from './state.ts';

/** Tasks that stay keep what became of them. */
export function withRevision(
  state: AggregatorState,
  { content }: SeenEvent<'plan.revised'>,
): AggregatorState {
  const plan = bodyOf(content.plan) as unknown as PlanDefinition;
  const known = new Map(state.tasks.map((task) => [task.id, task]));
  const tasks = plan.tasks.map(({ id, onFailure }) => {
    const before = known.get(id);
    // One that was skipped never began: the new plan says of it what it says.
    if (before === undefined || before.machine.value === 'skipped')
      return { id, onFailure, machine: taskFold.initial(), output: null };
    return { id, onFailure, machine: before.machine, output: before.output };
  });
  return { ...state, tasks };
}

/** An event of a task; the same object where its machine refuses it. */
export function onTask(state: AggregatorState, event: SeenEvent): AggregatorState {
  if (!event.type.startsWith('task.') || !('task' in event.data)) return state;
  const { task: id } = event.data;
  const at = state.tasks.findIndex((task) => task.id === id);
  const task = state.tasks[at];
  if (task === undefined) return evolveBranch(state, event);
  const machine = foldTask(task.machine, event);
  if (machine === task.machine) return state;
  const output = event.type === 'task.completed' ? bodyOf(event.content.output) : null;
  const next = { ...state, tasks: state.tasks.with(at, { ...task, machine, output }) };
  return withPart(evolveBranch(next, event), event);
}
