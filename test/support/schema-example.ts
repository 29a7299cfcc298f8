import type { JsonObject, JsonValue } from '../../schemas/json.ts';

/** Values that a schema of an event accepts, made from the schema itself. */

const content: JsonObject = {
  digest: 'a'.repeat(64),
  mediaType: 'text/plain',
  bytes: 3,
  body: 'x',
};

type Which = 'required' | 'all';

/** A value that fits: with the required members only, or with all. */
export function exampleOf(schema: JsonObject, which: Which): JsonValue {
  if (schema['$ref'] === 'urn:longrein:content:v1') return content;
  if (schema['const'] !== undefined) return schema['const'];
  if (Array.isArray(schema['enum'])) return schema['enum'][0] as JsonValue;
  if (schema['pattern'] !== undefined) return matching(String(schema['pattern']));
  switch (schema['type']) {
    case 'object':
      return objectOf(schema, which);
    case 'array':
      return which === 'all' || Number(schema['minItems'] ?? 0) > 0
        ? [exampleOf(schema['items'] as JsonObject, which)]
        : [];
    case 'integer':
    case 'number':
      return Number(schema['minimum'] ?? 0);
    case 'boolean':
      return true;
    case 'string':
      return 'x'.repeat(Math.max(1, Number(schema['minLength'] ?? 0)));
    default:
      throw new Error(`no example for ${JSON.stringify(schema)}`);
  }
}

/** What fits a pattern of digits; others would need an example of their own in the schema. */
function matching(pattern: string): string {
  const example = pattern
    .replace(/^\^|\$$/g, '')
    .replace(/\\d\{(\d+)\}/g, (_all, count: string) => '1'.repeat(Number(count)));
  if (!new RegExp(pattern).test(example)) throw new Error(`no example for the pattern ${pattern}`);
  return example;
}

function objectOf(schema: JsonObject, which: Which): JsonObject {
  const properties = (schema['properties'] ?? {}) as Readonly<Record<string, JsonObject>>;
  const required = (schema['required'] ?? []) as readonly string[];
  const names = which === 'all' ? Object.keys(properties) : required;
  const pairs = names.map((name) => [name, exampleOf(properties[name] ?? {}, which)]);
  const more = schema['additionalProperties'];
  if (which === 'all' && typeof more === 'object' && more !== null)
    pairs.push(['anything', exampleOf(more as JsonObject, which)]);
  return Object.fromEntries(pairs) as JsonObject;
}
