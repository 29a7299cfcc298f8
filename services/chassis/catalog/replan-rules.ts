/** What a schema cannot say of the ways in which the rest of a plan may be made anew. */

import type { PlanDefinition, TaskDefinition } from '../../../schemas/definitions/plan.ts';
import { expressionViolations, sourceViolations } from './expression-rules.ts';
import { givenViolations } from './given-names.ts';
import { type CatalogNames, duplicates, under, unknownName, unknownNames } from './known-names.ts';
import type { Violation } from './problem.ts';
import { patternViolations } from './task-rules.ts';

/**
 * Every rule that the tasks of rules break; paths begin at `replan`. Whether what they make is a whole plan is known when
 * something failed: it is checked then.
 */
export function replanViolations(plan: PlanDefinition, catalog: CatalogNames): Violation[] {
  const { replan, planning, tasks } = plan;
  if (replan === undefined) return [];
  if (replan.rules.length === 0 && planning === undefined) {
    const reason = 'Nothing says how the rest of the plan is made anew.';
    return [{ path: [], reason, fix: 'Add rules, or let a model plan (planning).' }];
  }
  const planned = tasks.map(({ id }) => id);
  return replan.rules.flatMap((rule, index) => {
    const own = rule.tasks.map(({ id }) => id);
    const known = { plan, catalog, ids: [...planned, ...own] };
    return [
      ...sourceViolations(rule.when, ['when']),
      ...duplicates(own, 'task').map(under('tasks')),
      ...rule.tasks.flatMap((task, at) => taskViolations(task, known).map(under('tasks', at))),
    ].map(under('rules', index));
  });
}

function taskViolations(
  task: TaskDefinition,
  of: Readonly<{ plan: PlanDefinition; catalog: CatalogNames; ids: readonly string[] }>,
): Violation[] {
  const { plan, catalog, ids } = of;
  return [
    ...unknownName(task.pool, catalog.pools, 'pool').map(under('pool')),
    ...unknownName(task.agent, catalog.agents, 'agent').map(under('agent')),
    ...unknownNames(task.needs, ids, 'task').map(under('needs')),
    ...expressionViolations(task.input, ['input']),
    ...patternViolations(task, catalog),
    ...givenViolations(plan, task, []),
  ];
}
