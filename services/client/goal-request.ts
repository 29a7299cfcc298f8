/** From what a program asks for to the goal as other systems publish it. */
import { randomBytes } from 'node:crypto';
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import { publicSchemas } from '../../schemas/generated/schemas.ts';
import type { JsonObject } from '../../schemas/json.ts';
import { sessionId } from '../chassis/protocol/ids.ts';
import { releaseSchemas } from '../chassis/protocol/release-schemas.ts';
import { GoalInvalidError } from './errors.ts';

/** A goal. Only `goal` or `plan` must be there; a goal that names a plan alone is called after it. */
export type GoalRequest = Readonly<{
  /** What is to be reached, in words. */
  goal?: string;
  plan?: string;
  /** Values of the inputs that the plan declares. */
  inputs?: JsonObject;
  /** Handed to agents as it is. */
  context?: JsonObject;
  /** The same id again, from the same tenant, is the same goal: no second session. Random if not given. */
  id?: string;
  tenant?: string;
  principal?: string;
  labels?: Readonly<Record<string, string>>;
  /** Goals of one key run one after another. */
  key?: string;
  /** With a key: the goal waits so long for a newer one of it, which takes its place; in milliseconds. */
  debounceMs?: number;
  priority?: 'high' | 'normal' | 'bulk';
  /** From opening until the session fails, in milliseconds. */
  timeoutMs?: number;
  /** US dollars; or exactly, in nano-USD. */
  budgetUsd?: number;
  budgetNanoUsd?: number;
  valueUsd?: number;
  valueNanoUsd?: number;
  agentPools?: readonly string[];
  riskMax?: 'low' | 'medium' | 'high' | 'critical';
}>;

/** A goal with its id and the session that follows from it. */
export type NamedGoal = Readonly<{
  goalId: string;
  session: string;
  body: JsonObject;
  /** It was given its id by who asks, so it may have been asked for before. */
  known: boolean;
}>;

/** Gives a goal its id, if it has none. Throws GoalInvalidError with the member and what it should be. */
export function nameGoal(request: GoalRequest): NamedGoal {
  const goalId = request.id ?? `g-${randomBytes(8).toString('hex')}`;
  const body = { ...bodyOf(request), id: goalId };
  checkGoal(body);
  const session = sessionId(request.tenant ?? 'default', '', goalId);
  return { goalId, session, body, known: request.id !== undefined };
}

function bodyOf(request: GoalRequest): JsonObject {
  const { budgetUsd, valueUsd, goal, ...rest } = request;
  const words = goal ?? (request.plan === undefined ? undefined : `Run the plan ${request.plan}`);
  const all = {
    ...rest,
    goal: words,
    budgetNanoUsd: nanoUsd('budgetUsd', budgetUsd) ?? request.budgetNanoUsd,
    valueNanoUsd: nanoUsd('valueUsd', valueUsd) ?? request.valueNanoUsd,
  };
  const given = Object.entries(all).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as JsonObject;
}

function nanoUsd(name: string, usd: number | undefined): number | undefined {
  if (usd === undefined) return undefined;
  const nano = Math.round(usd * 1e9);
  if (Number.isSafeInteger(nano) && nano >= 0) return nano;
  throw new GoalInvalidError(`${name} ${usd} is not an amount`, 'Give US dollars, such as 0.25.');
}

let validate: ValidateFunction | undefined;

/** What intake would refuse, told before it is sent. Throws GoalInvalidError. */
export function checkGoal(goal: JsonObject): void {
  const schema = publicSchemas.find((one) => one['$id'] === 'urn:longrein:public:goal:v1');
  const options = { ...releaseSchemas, strict: false, allErrors: false };
  validate ??= new Ajv2020(options).compile(schema ?? {});
  if (validate(goal)) return;
  const [first] = validate.errors ?? [];
  throw new GoalInvalidError(
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
