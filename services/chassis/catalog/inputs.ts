/** The inputs of a goal against what its plan declares. Pure. */

import type { PlanDefinition, PlanInput } from '../../../schemas/definitions/plan.ts';
import type { JsonObject, JsonValue } from '../../../schemas/json.ts';

/**
 * One thing that is wrong with the inputs of a goal; `field` is as the goal has it, such as
 * `inputs.path`.
 */
export type InputProblem = Readonly<{ field: string; message: string; fix: string }>;

/** Everything that is wrong with `inputs`: missing, of another type, or not declared. */
export function validateInputs(plan: PlanDefinition, inputs: JsonObject): InputProblem[] {
  const declared = Object.entries(plan.inputs).flatMap(([name, input]) =>
    declaredProblems({ name, input, value: own(inputs, name), plan: plan.name }),
  );
  const names = Object.keys(plan.inputs);
  const unknown = Object.keys(inputs)
    .filter((name) => !names.includes(name))
    .map((name) => ({
      field: `inputs.${name}`,
      message: `The plan "${plan.name}" has no input "${name}".`,
      fix: names.length === 0 ? 'Remove it.' : `Remove it, or use one of: ${names.join(', ')}.`,
    }));
  return [...declared, ...unknown];
}

/**
 * `inputs` with the defaults of the plan in the place of what is missing; others stay as they are.
 */
export function applyDefaults(plan: PlanDefinition, inputs: JsonObject): JsonObject {
  const defaults = Object.entries(plan.inputs).flatMap(([name, input]) =>
    input.default === undefined ? [] : [[name, input.default] as const],
  );
  return { ...Object.fromEntries(defaults), ...inputs };
}

/** Whether `value` is of the type that an input declares. */
export function fitsType(value: JsonValue, type: PlanInput['type']): boolean {
  if (type === 'array') return Array.isArray(value);
  if (type === 'object')
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  return typeof value === type;
}

/** The type with its article: `a number`, `an object`. */
export function indefinite(type: PlanInput['type']): string {
  return `${/^[ao]/.test(type) ? 'an' : 'a'} ${type}`;
}

type Declared = Readonly<{
  name: string;
  input: PlanInput;
  value: JsonValue | undefined;
  plan: string;
}>;

function declaredProblems({ name, input, value, plan }: Declared): InputProblem[] {
  const field = `inputs.${name}`;
  if (value === undefined) {
    if (!input.required || input.default !== undefined) return [];
    const about = input.description === undefined ? '' : ` ${input.description}`;
    const message = `The plan "${plan}" needs the input "${name}", and the goal does not give it.`;
    return [{ field, message, fix: `Give ${indefinite(input.type)} as ${field}.${about}` }];
  }
  if (fitsType(value, input.type)) return [];
  const message = `The input "${name}" is not ${indefinite(input.type)}.`;
  return [{ field, message, fix: `Give ${indefinite(input.type)} as ${field}.` }];
}

/** Members that every object answers to are no inputs. */
function own(inputs: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(inputs, name) ? inputs[name] : undefined;
}
