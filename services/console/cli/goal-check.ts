/** Whether a goal has the public shape: what intake would refuse, told before it is sent. */
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import { publicSchemas } from '../../../schemas/generated/schemas.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { UsageError } from './exit-code.ts';

/** Throws UsageError with the field and what it should be. */
export function checkGoal(goal: JsonObject): void {
  const schema = publicSchemas.find((one) => one['$id'] === 'urn:longrein:public:goal:v1');
  const check = new Ajv2020({ strict: false, allErrors: false }).compile(schema ?? {});
  if (check(goal)) return;
  const [first] = check.errors ?? [];
  throw new UsageError(
    `the goal is not valid: ${describe(first)}`,
    'See schemas/public/goal.v1.json for the members of a goal.',
  );
}

function describe(error: ErrorObject | undefined): string {
  const extra = error?.params['additionalProperty'];
  const path = [error?.instancePath.slice(1).replaceAll('/', '.'), extra].filter(Boolean).join('.');
  const what = extra === undefined ? error?.message : 'is not a member of a goal';
  return [path, what, allowed(error)].filter(Boolean).join(' ');
}

function allowed(error: ErrorObject | undefined): string {
  const values = error?.params['allowedValues'];
  return Array.isArray(values) ? `(${values.join(', ')})` : '';
}
