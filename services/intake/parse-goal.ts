import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import { publicSchemas } from '../../schemas/generated/schemas.ts';
import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import { limits } from '../../schemas/limits.ts';
import type { Catalog } from '../chassis/catalog/catalog.ts';
import { validateInputs } from '../chassis/catalog/inputs.ts';
import { LongreinError, toError } from '../chassis/errors.ts';
import { type Codec, isFramed } from '../chassis/log/codec.ts';
import type { LogRecord } from '../chassis/log/port.ts';
import { releaseSchemas } from '../chassis/protocol/release-schemas.ts';

/** What is wrong with a goal: the field, and what to do about it. */
export type GoalProblem = Readonly<{ code: string; message: string; fix: string; field?: string }>;

export type PublicGoal = Readonly<{
  id?: string;
  goal: string;
  plan?: string;
  inputs?: JsonObject;
  context?: JsonObject;
  tenant?: string;
  principal?: string;
  labels?: Readonly<Record<string, string>>;
  key?: string;
  debounceMs?: number;
  priority?: 'high' | 'normal' | 'bulk';
  timeoutMs?: number;
  budgetNanoUsd?: number;
  valueNanoUsd?: number;
  agentPools?: string[];
  riskMax?: 'low' | 'medium' | 'high' | 'critical';
}>;

export type PublicCancel = Readonly<{
  cancel: string;
  child?: string;
  source?: string;
  tenant?: string;
  requestedBy?: string;
  reason?: string;
}>;

export type PublicSignal = Readonly<{
  signal: string;
  name: string;
  payload?: JsonValue;
  source?: string;
  tenant?: string;
}>;

/** A record of the goals topic as intake understands it. */
export type ParsedGoal =
  | Readonly<{ kind: 'goal'; goal: PublicGoal }>
  | Readonly<{ kind: 'cancel'; cancel: PublicCancel }>
  | Readonly<{ kind: 'signal'; signal: PublicSignal }>
  /** `partial`: what could be read of it, to answer under the right id. */
  | Readonly<{ kind: 'problem'; problem: GoalProblem; partial: JsonObject }>;

const ajv = new Ajv2020({ ...releaseSchemas, strict: true, allErrors: false });
const schemaNamed = (name: string) =>
  publicSchemas.find((schema) => schema['$id'] === `urn:longrein:public:${name}:v1`) as Record<
    string,
    unknown
  >;
const isGoal = ajv.compile<PublicGoal>(schemaNamed('goal'));
const isCancel = ajv.compile<PublicCancel>(schemaNamed('goal-cancel'));
const isSignal = ajv.compile<PublicSignal>(schemaNamed('goal-signal'));

/** Names of fields are given by who wrote the goal; no event takes a longer one. */
const fieldLengthMax = 512;

function problem(given: GoalProblem, partial: JsonObject = {}): ParsedGoal {
  const field = given.field?.slice(0, fieldLengthMax);
  const named = field === undefined ? given : { ...given, field };
  return { kind: 'problem', problem: named, partial };
}

function invalid(errors: readonly ErrorObject[] | null | undefined, body: JsonObject): ParsedGoal {
  const first = errors?.[0];
  const extra = first?.params['additionalProperty'] ?? first?.params['missingProperty'];
  const path = `${first?.instancePath ?? ''}${extra === undefined ? '' : `/${String(extra)}`}`;
  const field = path.replace(/^\//, '').replaceAll('/', '.');
  const code = first?.keyword === 'required' ? 'GOAL_FIELD_MISSING' : 'GOAL_FIELD_INVALID';
  const allowed: unknown = first?.params['allowedValues'];
  const choice = Array.isArray(allowed) ? `: ${allowed.join(', ')}` : '';
  const message = `${field === '' ? 'the goal' : field}: ${first?.message ?? 'is not valid'}${choice}`;
  const fix = `See the schema of a goal (schemas/public/goal.v1.json) for "${field}".`;
  return problem({ code, message, fix, ...(field === '' ? {} : { field }) }, body);
}

const unknownSchema = (message: string): GoalProblem => ({
  code: 'SCHEMA_ID_UNKNOWN',
  message,
  fix: 'Encode with the newest schema of the subject longrein.goal, or send plain JSON.',
});

const takenSubjects: ReadonlySet<string> = new Set(['goal', 'goal-cancel', 'goal-signal']);

function decode(value: Uint8Array, codec: Codec): { body: unknown } | GoalProblem {
  try {
    // Fatal: bytes that are no UTF-8 would be taken up with other characters in their place.
    if (!isFramed(value))
      return { body: JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(value)) };
    const { schemaId, subject, body } = codec.decode(value);
    if (takenSubjects.has(subject ?? '')) return { body };
    return unknownSchema(`the schema id ${schemaId} is not one of a goal`);
  } catch (thrown) {
    if (thrown instanceof LongreinError && thrown.code === 'SCHEMA_ID_UNKNOWN')
      return unknownSchema(thrown.message);
    const message = `the goal is not JSON: ${toError(thrown).message}`;
    return { code: 'GOAL_NOT_JSON', message, fix: 'Send one JSON object in UTF-8.' };
  }
}

function checkKey({ key, debounceMs }: PublicGoal): GoalProblem | undefined {
  if (debounceMs === undefined || key !== undefined) return undefined;
  const message = 'debounceMs: says what becomes of older goals of a key, and the goal has none';
  const fix = 'Give the goals that may stand for each other the same key.';
  return { code: 'GOAL_FIELD_INVALID', field: 'debounceMs', message, fix };
}

function checkPlan(goal: PublicGoal, catalog: Catalog): GoalProblem | undefined {
  const name = goal.plan ?? 'default';
  const plan = catalog.plan(name);
  if (plan === undefined) {
    const known = Object.keys(catalog.plans).sort().join(', ');
    const message =
      goal.plan === undefined
        ? 'no plan is named, and there is none called "default"'
        : `there is no plan "${name}"`;
    return { code: 'PLAN_UNKNOWN', field: 'plan', message, fix: `Name one of: ${known}.` };
  }
  const first = validateInputs(plan, goal.inputs ?? {})[0];
  if (first === undefined) return undefined;
  const field = first.field.startsWith('inputs') ? first.field : `inputs.${first.field}`;
  return { code: 'INPUT_INVALID', field, message: first.message, fix: first.fix };
}

/** Whether it is nested deeper than every reader can walk. Level by level: the stack of this process has an end too. */
function isTooDeep(body: object): boolean {
  let level: object[] = [body];
  for (let depth = 0; depth < limits.goalDepthMax; depth++) {
    level = level.flatMap((one) =>
      Object.values(one).filter((member) => member !== null && typeof member === 'object'),
    );
    if (level.length === 0) return false;
  }
  return true;
}

/** The longest that headers may be; the same bounds that the members `id` and `source` have. */
export const headerLengthMax = { ce_id: 128, ce_source: 512 } as const;

function headerProblem({ headers }: LogRecord): GoalProblem | undefined {
  for (const [field, most] of Object.entries(headerLengthMax)) {
    const { length } = headers[field] ?? '';
    if (length <= most) continue;
    const message = `the header ${field} has ${length} characters; at most ${most} are taken`;
    return { code: 'GOAL_HEADER_INVALID', field, message, fix: `Send a shorter ${field}.` };
  }
  return undefined;
}

/** Reads one record of the goals topic. Pure but for the compiled schemas; never throws for bad bytes. */
export function parseGoal(
  record: LogRecord,
  tools: { codec: Codec; catalog: Catalog },
): ParsedGoal {
  const { value } = record;
  if (value === null || value.length === 0) {
    return problem({
      code: 'GOAL_EMPTY',
      message: 'the record has no value',
      fix: 'Send one JSON object.',
    });
  }
  if (value.length > limits.goalBytesMax) {
    const message = `the goal has ${value.length} bytes; at most ${limits.goalBytesMax} are taken`;
    const fix = 'Put large data where a tool can read it, and name it in the inputs.';
    return problem({ code: 'GOAL_TOO_LARGE', message, fix });
  }
  const decoded = decode(value, tools.codec);
  if (!('body' in decoded)) return problem(decoded);
  const { body } = decoded;
  if (body === null || typeof body !== 'object' || Array.isArray(body)) {
    return problem({
      code: 'GOAL_NOT_OBJECT',
      message: 'the goal is not a JSON object',
      fix: 'Send {"goal": "…"}.',
    });
  }
  const object = body as JsonObject;
  if (isTooDeep(object)) {
    const message = `the goal is nested deeper than ${limits.goalDepthMax} levels`;
    return problem({ code: 'GOAL_TOO_DEEP', message, fix: 'Send flatter inputs.' }, object);
  }
  const header = headerProblem(record);
  if (header !== undefined) return problem(header, object);
  if ('cancel' in object) {
    return isCancel(object) ? { kind: 'cancel', cancel: object } : invalid(isCancel.errors, object);
  }
  if ('signal' in object) {
    return isSignal(object) ? { kind: 'signal', signal: object } : invalid(isSignal.errors, object);
  }
  if (!isGoal(object)) return invalid(isGoal.errors, object);
  const goal = object as unknown as PublicGoal;
  const wrong = checkKey(goal) ?? checkPlan(goal, tools.catalog);
  return wrong === undefined ? { kind: 'goal', goal } : problem(wrong, object);
}

/** A text member of what could be read, if it is one. */
export function textIn(partial: JsonObject, name: string): string | undefined {
  const value: JsonValue | undefined = partial[name];
  return typeof value === 'string' && value !== '' && value.length <= 128 ? value : undefined;
}
