/**
 * One reason why a plan cannot be followed, as the content `violations` of `plan.rejected` lists
 * it.
 */
export type PlanViolation = Readonly<{
  /**
   * The member of the plan or the goal, such as `tasks[2].pool`, or a file with line and column.
   */
  where: string;
  reason: string;
  fix: string;
}>;
