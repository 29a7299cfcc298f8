/**
 * Rules that say of a goal in which lane it runs and which pools may work on it. Intake asks them when a goal arrives, and
 * writes down what they said: what is in the log stands, whatever the file says later.
 */

import type { GoalRule } from '../../../schemas/definitions/goal-rule.ts';
import { memberOf } from '../effects/member.ts';
import { type CatalogNames, unknownNames } from './known-names.ts';
import type { Violation } from './problem.ts';

export type RuledGoal = Readonly<{
  tenant: string;
  plan?: string | undefined;
  labels: Readonly<Record<string, string>>;
  priority: 'high' | 'normal' | 'bulk';
  agentPools?: readonly string[] | undefined;
}>;

/** What counts for the goal. `rule` is the name of the one that fitted. */
export type Ruling = Readonly<{
  priority: 'high' | 'normal' | 'bulk';
  agentPools?: readonly string[];
  rule?: string;
}>;

function fits({ when }: GoalRule, { tenant, plan, labels }: RuledGoal): boolean {
  const { tenants, categories, plans, labels: wanted = {} } = when;
  const category = memberOf(labels, 'category');
  return (
    (tenants?.includes(tenant) ?? true) &&
    (categories === undefined || (category !== undefined && categories.includes(category))) &&
    (plans === undefined || (plan !== undefined && plans.includes(plan))) &&
    Object.entries(wanted).every(([name, value]) => memberOf(labels, name) === value)
  );
}

/** A rule never widens what the goal itself allows. */
function within(asked: readonly string[] | undefined, ruled: readonly string[]): readonly string[] {
  return asked === undefined ? ruled : asked.filter((pool) => ruled.includes(pool));
}

export function rulingOf(rules: readonly GoalRule[], goal: RuledGoal): Ruling {
  const { priority, agentPools } = goal;
  const rule = rules.find((one) => fits(one, goal));
  if (rule === undefined) return { priority, ...(agentPools === undefined ? {} : { agentPools }) };
  const pools = rule.pools === undefined ? agentPools : within(agentPools, rule.pools);
  return {
    priority: rule.lane ?? priority,
    ...(pools === undefined ? {} : { agentPools: pools }),
    rule: rule.name,
  };
}

/** What it says nothing of, and names in it that nothing has. */
export function validateGoalRule(
  { name, when, lane, pools }: GoalRule,
  names: CatalogNames & Readonly<{ plans: readonly string[] }>,
): Violation[] {
  const under =
    (...parts: string[]) =>
    (found: Violation): Violation => ({
      ...found,
      path: [...parts, ...found.path],
    });
  const reason = `Rule "${name}" gives a goal neither a lane nor pools.`;
  const says = lane !== undefined || pools !== undefined;
  return [
    ...(says ? [] : [{ path: [], reason, fix: 'Add "lane" or "pools".' }]),
    ...unknownNames(when.plans ?? [], names.plans, 'plan').map(under('when', 'plans')),
    ...unknownNames(pools ?? [], names.pools, 'pool').map(under('pools')),
  ];
}

/** The rules by name, in the order of the file. */
export const namedRules = (written: readonly GoalRule[]): [string, GoalRule][] =>
  written.map((rule) => [rule.name, rule]);
