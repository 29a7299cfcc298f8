/**
 * Checks arguments of tools and outputs of agents against their JSON Schema (2020-12, strict). Pure: validators
 * are kept by the schema's hash, so that what is kept never changes an answer. Formats are notes,
 * as the dialect has it by default.
 */

import { Ajv2020, type ErrorObject, type Options, type ValidateFunction } from 'ajv/dist/2020.js';
import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import { canonical, hashOf } from './protocol/hash.ts';

/** `schema`: the schema itself cannot be used. Each problem names its place by JSON pointer. */
export type ValueProblem =
  | Readonly<{ kind: 'schema'; message: string }>
  | Readonly<{ kind: 'value'; problems: readonly string[]; more: number }>;

type Compiled = Readonly<{ validate: ValidateFunction }> | Readonly<{ message: string }>;

const keptMax = 500;
const problemsMax = 5;
const kept = new Map<string, Compiled>();
const options: Options = {
  strict: true,
  // Schemas of real tools name required members in branches, and allow null beside a type.
  strictRequired: false,
  allowUnionTypes: true,
  allErrors: true,
  validateFormats: false,
  addUsedSchema: false,
  logger: false,
};
const shared = new Ajv2020(options);

function compile(schema: JsonObject): Compiled {
  // In one order of members: the order of what is found wrong follows it.
  const source = canonical(schema);
  const copy: Record<string, unknown> = JSON.parse(source);
  // Names inside a schema stay in the compiler and would meet those of other schemas; it costs 100
  // ms to start.
  const ajv = source.includes('"$id"') ? new Ajv2020(options) : shared;
  try {
    const validate = ajv.compile(copy);
    // An asynchronous validator answers with a promise, which would pass for true.
    if ('$async' in validate) return { message: '$async is not supported' };
    return { validate };
  } catch (thrown) {
    return { message: schemaFault(thrown) };
  } finally {
    // The compiler keeps what it compiled by identity, and this copy is never seen again.
    if (ajv === shared) ajv.removeSchema(copy);
  }
}

/** The engine's words on a bad pattern differ from release to release, and would break replay. */
function schemaFault(thrown: unknown): string {
  if (thrown instanceof SyntaxError) return 'a pattern in it is not a regular expression';
  return thrown instanceof Error ? thrown.message : 'it cannot be compiled';
}

function compiledOf(schema: JsonObject): Compiled {
  const key = hashOf(schema);
  const known = kept.get(key);
  if (known !== undefined) return known;
  const fresh = compile(schema);
  const oldest = kept.keys().next();
  if (kept.size >= keptMax && !oldest.done) kept.delete(oldest.value);
  kept.set(key, fresh);
  return fresh;
}

const escaped = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

function sayProblem(error: ErrorObject, whole: string): string {
  const { instancePath, params, keyword } = error;
  const place = instancePath === '' ? whole : instancePath;
  if (keyword === 'required')
    return `${instancePath}/${escaped(params.missingProperty)} is missing`;
  if (keyword === 'additionalProperties') {
    return `${instancePath}/${escaped(params.additionalProperty)} is not known`;
  }
  if (keyword === 'enum') return `${place} must be one of ${canonical(params.allowedValues)}`;
  if (keyword === 'const') return `${place} must be ${canonical(params.allowedValue)}`;
  return `${place} ${error.message ?? 'is not valid'}`;
}

/** What is wrong with this value, or nothing. `whole` is what problems of all of it call it. */
export function valueProblem(
  schema: JsonObject,
  value: JsonValue,
  whole: string,
): ValueProblem | undefined {
  const compiled = compiledOf(schema);
  if ('message' in compiled) return { kind: 'schema', message: compiled.message };
  const valid: boolean = compiled.validate(value);
  if (valid) return undefined;
  const errors = compiled.validate.errors ?? [];
  const problems = [...new Set(errors.map((error) => sayProblem(error, whole)))];
  const more = Math.max(0, problems.length - problemsMax);
  return { kind: 'value', problems: problems.slice(0, problemsMax), more };
}
