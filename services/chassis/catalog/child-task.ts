/** Tasks that belong to another one are called after it: `each:3` is the third branch of `each`. */

/** The id of a child; no task of a plan can have one like it. */
export const childId = (task: string, ordinal: number): string => `${task}:${ordinal}`;

/** The task of the plan that a task belongs to; itself for one of the plan. What it may cost is said there. */
export const taskOfPlan = (task: string): string => task.split(':', 1)[0] ?? task;
