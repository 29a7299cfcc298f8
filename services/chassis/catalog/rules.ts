import type {
  PlanDefinition,
  PlanInput,
  TaskDefinition,
} from '../../../schemas/definitions/plan.ts';
import { findCycle } from './cycle.ts';
import { expressionViolations } from './expression-rules.ts';
import { givenViolations, shapeViolations } from './given-names.ts';
import { fitsType, indefinite } from './inputs.ts';
import { type CatalogNames, duplicates, under, unknownName, unknownNames } from './known-names.ts';
import { outputViolations } from './output-rules.ts';
import type { Violation } from './problem.ts';
import { replanViolations } from './replan-rules.ts';
import { oneLoopForGoals, patternViolations } from './task-rules.ts';

/**
 * What a schema cannot say of a plan: that its tasks can be run in some order, and that everything
 * it names is there. Pure: the planner asks the same of every plan before it accepts it.
 */

/** Every rule that `plan` breaks, in its own order; an empty list when it may run. */
export function validatePlan(plan: PlanDefinition, catalog: CatalogNames): Violation[] {
  const ids = plan.tasks.map(({ id }) => id);
  const repeated = duplicates(ids, 'task');
  return [
    ...planningViolations(plan, catalog),
    ...Object.entries(plan.inputs).flatMap(([name, input]) => defaultViolations(name, input)),
    ...repeated.map((found) => ({ ...found, path: ['tasks', ...found.path, 'id'] })),
    ...plan.tasks.flatMap((task, index) => taskViolations({ plan, task, index, ids, catalog })),
    ...(repeated.length === 0 ? cycleViolations(plan) : []),
    ...oneLoopForGoals(plan.tasks),
    ...unknownNames(plan.output.tasks ?? [], ids, 'task').map(under('output', 'tasks')),
    ...expressionViolations(plan.output.shape ?? null, ['output', 'shape']),
    ...shapeViolations(plan),
    ...outputViolations(plan, catalog).map(under('output')),
    ...replanViolations(plan, catalog).map(under('replan')),
  ];
}

type PlacedTask = Readonly<{
  plan: PlanDefinition;
  task: TaskDefinition;
  index: number;
  ids: readonly string[];
  catalog: CatalogNames;
}>;

function taskViolations({ plan, task, index, ids, catalog }: PlacedTask): Violation[] {
  const path = ['tasks', index];
  return [
    ...unknownName(task.pool, catalog.pools, 'pool').map(under(...path, 'pool')),
    ...unknownName(task.agent, catalog.agents, 'agent').map(under(...path, 'agent')),
    ...unknownNames(task.needs, ids, 'task').map(under(...path, 'needs')),
    ...expressionViolations(task.input, [...path, 'input']),
    ...patternViolations(task, catalog).map(under(...path)),
    ...givenViolations(plan, task, path),
  ];
}

/** Tasks are written, or a model makes them. */
function planningViolations(
  { tasks, planning }: PlanDefinition,
  catalog: CatalogNames,
): Violation[] {
  if (planning === undefined) {
    if (tasks.length > 0) return [];
    return [{ path: [], reason: 'The file has no "tasks".', fix: 'Add "tasks".' }];
  }
  const { model, agents } = planning;
  const isAlias = !model.includes('/');
  return [
    ...agents.flatMap(({ agent, pool }, index) => [
      ...unknownName(agent, catalog.agents, 'agent').map(under('planning', 'agents', index)),
      ...unknownName(pool, catalog.pools, 'pool').map(under('planning', 'agents', index)),
    ]),
    ...(isAlias ? unknownName(model, catalog.models, 'model') : []).map(under('planning', 'model')),
  ];
}

function cycleViolations(plan: PlanDefinition): Violation[] {
  const needs = new Map(plan.tasks.map(({ id, needs: others }) => [id, others] as const));
  const cycle = findCycle(needs);
  if (cycle === undefined) return [];
  const index = plan.tasks.findIndex(({ id }) => id === cycle[0]);
  const reason = `These tasks wait for one another: ${cycle.join(' -> ')}.`;
  return [{ path: ['tasks', index, 'needs'], reason, fix: 'Remove one of these needs.' }];
}

function defaultViolations(name: string, input: PlanInput): Violation[] {
  if (input.default === undefined || fitsType(input.default, input.type)) return [];
  const reason = `The default of "${name}" is not ${indefinite(input.type)}.`;
  const fix = 'Correct the default or the type.';
  return [{ path: ['inputs', name, 'default'], reason, fix }];
}
