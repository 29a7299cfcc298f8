/** What expressions of a plan see, and what becomes of their mistakes. */

import type { TaskDefinition, Template } from '../../schemas/definitions/plan.ts';
import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import { LongreinError } from '../chassis/errors.ts';
import { compileTemplate } from '../chassis/expressions/template.ts';
import type { SupervisorState } from './state.ts';

/** `goal`, `inputs`, `context`, and the outputs of the tasks that this one needs. */
export function scopeOf(state: SupervisorState, { needs }: TaskDefinition): JsonObject {
  const outputs = state.tasks
    .filter((other) => needs.includes(other.definition.id))
    .map((other): [string, JsonValue] => [other.definition.id, other.output]);
  const { goal, inputs, context } = state.scope ?? { goal: null, inputs: {}, context: {} };
  return { goal, inputs, context, tasks: Object.fromEntries(outputs) };
}

/** The value, or the error of the expression. `member` names its place in the task. */
export function evaluateIn(
  state: SupervisorState,
  of: Readonly<{ task: TaskDefinition; member: string; template: Template; more?: JsonObject }>,
): JsonValue | LongreinError {
  const { task, member, template, more } = of;
  try {
    const where = `plan ${state.plan}, task ${task.id}, ${member}`;
    return compileTemplate(template, where).evaluate({ ...scopeOf(state, task), ...more });
  } catch (thrown) {
    if (thrown instanceof LongreinError && thrown.code.startsWith('EXPRESSION_')) return thrown;
    throw thrown;
  }
}

export const expressionFailure = ({ message }: LongreinError) =>
  ({ code: 'EXPRESSION', class: 'expression', message }) as const;
