/**
 * What the expressions of a plan see of the goal. Whether the inputs fit the plan is the planner's
 * to check.
 */

import type { PlanDefinition } from '../../../schemas/definitions/plan.ts';
import { bodyOf, type SeenEvent } from '../../../schemas/event.ts';
import type { JsonObject, JsonValue } from '../../../schemas/json.ts';
import { applyDefaults } from './inputs.ts';

export type GoalScope = Readonly<{ goal: JsonValue; inputs: JsonObject; context: JsonValue }>;

const isObject = (value: JsonValue): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The scope as the goal gave it: no inputs and no context are empty objects. */
export function goalScopeOf(opened: SeenEvent<'session.opened'>): GoalScope {
  const inputs = bodyOf(opened.content.inputs, {});
  return {
    goal: bodyOf(opened.content.goal),
    inputs: isObject(inputs) ? inputs : {},
    context: bodyOf(opened.content.context, {}),
  };
}

/** The scope with the plan's defaults for inputs that the goal left out. */
export const withDefaults = (scope: GoalScope, plan: PlanDefinition): GoalScope => ({
  ...scope,
  inputs: applyDefaults(plan, scope.inputs),
});
