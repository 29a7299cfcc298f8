/** Who works for a plan: the agent of each task, and those of its branches and reviews. */

import type { PlanDefinition, TaskDefinition } from '../../../schemas/definitions/plan.ts';

/** `path` leads from the task to what names the pool and the agent. */
export type Worker = Readonly<{ pool: string; agent: string; path: readonly (string | number)[] }>;

/** The task's own, then its branches or its reviewer. */
export function workersOf(task: TaskDefinition): readonly Worker[] {
  const { pool, agent, fanOut, review } = task;
  const branches = (fanOut?.branches ?? []).map((branch, index) => ({
    pool: branch.pool ?? pool,
    agent: branch.agent ?? agent,
    path: ['fanOut', 'branches', index],
  }));
  const reviewer =
    review === undefined ? [] : [{ pool: review.pool, agent: review.agent, path: ['review'] }];
  return [{ pool, agent, path: [] }, ...branches, ...reviewer];
}

/** Those of all tasks, and those that a planning model or a rule may bring in. */
export const workersOfPlan = ({ tasks, planning, replan }: PlanDefinition): readonly Worker[] => [
  ...tasks.flatMap(workersOf),
  ...(replan?.rules ?? []).flatMap((rule) => rule.tasks.flatMap(workersOf)),
  ...(planning?.agents ?? []).map(({ pool, agent }, index) => ({
    pool,
    agent,
    path: ['planning', 'agents', index],
  })),
];
