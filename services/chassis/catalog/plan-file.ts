/** One plan file, checked against a catalog before it is put there. */

import type { PlanDefinition } from '../../../schemas/definitions/plan.ts';
import { readSource } from './directory.ts';
import type { CatalogNames } from './known-names.ts';
import type { CatalogProblem } from './problem.ts';
import { validatePlan } from './rules.ts';
import { definitionReaders } from './schema.ts';
import { completePlan } from './written.ts';

export type CheckedPlan = Readonly<{
  /** Undefined where the file has not the shape of a plan. */
  plan: PlanDefinition | undefined;
  problems: readonly CatalogProblem[];
}>;

/** Everything that is wrong with the file, with its places. Does not throw for bad files. */
export function checkPlanFile(path: string, names: CatalogNames): CheckedPlan {
  const source = readSource(path);
  if (source.value === undefined) return { plan: undefined, problems: source.problems };
  const read = definitionReaders().plan(source.value);
  if ('violations' in read) {
    const problems = [...source.problems, ...read.violations.map(source.problemAt)];
    return { plan: undefined, problems };
  }
  const plan = completePlan(read.value);
  const violations = validatePlan(plan, names).map(source.problemAt);
  return { plan, problems: [...source.problems, ...violations] };
}
