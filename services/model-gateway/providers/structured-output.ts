/**
 * Asks a provider for JSON of an agent's schema in the provider's own way. What it promises is checked
 * again on our side, whole: a provider is told the shape only.
 */

import { type LanguageModelMiddleware, wrapLanguageModel } from 'ai';
import type { JsonObject, JsonValue } from '../../../schemas/json.ts';
import type { StreamModel } from './call-ids.ts';
import type { ModelRequest, StructuredOutput } from './port.ts';

// Bounds make grammars so large that one answer takes minutes, and some providers refuse them.
const bounds: ReadonlySet<string> = new Set([
  ...['minLength', 'maxLength', 'pattern', 'format', 'minimum', 'maximum', 'multipleOf'],
  ...['exclusiveMinimum', 'exclusiveMaximum', 'minItems', 'maxItems', 'uniqueItems'],
  ...['minProperties', 'maxProperties', 'minContains', 'maxContains', 'default', 'examples'],
]);
const named: ReadonlySet<string> = new Set([
  ...['properties', '$defs', 'definitions', 'patternProperties', 'dependentSchemas'],
]);
const literal: ReadonlySet<string> = new Set(['const', 'enum', 'required', 'type']);

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const mapped = (of: JsonObject, change: (value: JsonValue) => JsonValue): JsonObject =>
  Object.fromEntries(Object.entries(of).map(([name, value]) => [name, change(value)]));

function shapeIn(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(shapeIn);
  return isObject(value) ? shapeOf(value) : value;
}

/** The schema without what only bounds its values. */
export function shapeOf(schema: JsonObject): JsonObject {
  const kept = Object.entries(schema).filter(([keyword]) => !bounds.has(keyword));
  const entries = kept.map(([keyword, value]): [string, JsonValue] => {
    if (literal.has(keyword)) return [keyword, value];
    if (named.has(keyword) && isObject(value)) return [keyword, mapped(value, shapeIn)];
    return [keyword, shapeIn(value)];
  });
  return Object.fromEntries(entries);
}

function isClosed(schema: JsonObject): boolean {
  const { properties, required, additionalProperties } = schema;
  const names = Object.keys(isObject(properties) ? properties : {});
  const all = new Set(Array.isArray(required) ? required : []);
  return additionalProperties === false && names.every((name) => all.has(name));
}

/**
 * Whether OpenAI's strict mode takes it: every object names all of its members and requires them. Else it would refuse
 * the request, and is only shown the schema.
 */
export function isStrict(value: JsonValue): boolean {
  if (Array.isArray(value)) return value.every(isStrict);
  if (!isObject(value)) return true;
  const { type } = value;
  const ofObject = type === 'object' || (Array.isArray(type) && type.includes('object'));
  if ((ofObject || isObject(value['properties'])) && !isClosed(value)) return false;
  return Object.entries(value).every(([word, each]) => literal.has(word) || isStrict(each));
}

function formatOf({ outputSchema, tools }: ModelRequest, can: StructuredOutput) {
  if (outputSchema === undefined || can === 'none') return undefined;
  // Beside tools it might be forced to answer before any was called.
  if (tools.length > 0 && can !== 'schema-beside-tools') return undefined;
  if (can === 'json') return { type: 'json' as const };
  return { type: 'json' as const, name: 'answer', schema: shapeOf(outputSchema) };
}

/** `model`, asked for JSON as far as its provider can; itself where the request wants any text. */
export function withOutputSchema(
  model: StreamModel,
  request: ModelRequest,
  can: StructuredOutput,
): StreamModel {
  const responseFormat = formatOf(request, can);
  if (responseFormat === undefined) return model;
  const { schema } = responseFormat as { schema?: JsonObject };
  const strictJsonSchema = schema !== undefined && isStrict(schema);
  const beside = request.tools.length > 0 ? { structuredOutputMode: 'outputFormat' } : {};
  const own = { openaiCompatible: { strictJsonSchema }, anthropic: beside };
  const middleware: LanguageModelMiddleware = {
    specificationVersion: 'v3',
    transformParams: async ({ params }) => ({
      ...params,
      responseFormat,
      providerOptions: { ...params.providerOptions, ...own },
    }),
  };
  return wrapLanguageModel({ model, middleware });
}
