/**
 * Tasks that belong to another one are called after it: `each:3` is the third branch of `each`, and `each:3/1` is the first
 * that the agent of that branch delegated.
 */

/** The id of a child; no task of a plan can have one like it. */
export const childId = (task: string, ordinal: number): string => `${task}:${ordinal}`;

/** The id of a task that an agent gave to another one; likewise. */
export const delegatedId = (task: string, ordinal: number): string => `${task}/${ordinal}`;

/** Whether an agent made the task. */
export const isDelegated = (task: string): boolean => task.includes('/');

/** The task whose agent delegated this one; undefined for one that nobody delegated. */
export function delegatedBy(task: string): string | undefined {
  const at = task.lastIndexOf('/');
  return at < 0 ? undefined : task.slice(0, at);
}

/** The task of the plan that a task belongs to; itself for one of the plan. What it may cost is said there. */
export const taskOfPlan = (task: string): string => task.split(/[:/]/, 1)[0] ?? task;
