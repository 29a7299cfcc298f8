/** Whether a server has changed what a tool takes so far that no call by the pinned definition could be right. Pure. */
import type { JsonObject, JsonValue } from '../../../schemas/json.ts';

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const textsIn = (value: JsonValue | undefined): readonly string[] =>
  (Array.isArray(value) ? value : [value]).filter((one) => typeof one === 'string');

const membersOf = (schema: JsonObject): JsonObject =>
  isObject(schema['properties']) ? schema['properties'] : {};

const requiredOf = (schema: JsonObject): readonly string[] => textsIn(schema['required']);

/** Whether the schema allows a member of that name at all. */
const takes = (schema: JsonObject, name: string): boolean =>
  schema['additionalProperties'] !== false || Object.hasOwn(membersOf(schema), name);

/** The types that a member may have; none where its schema does not say. */
function typesOf(schema: JsonObject, name: string): readonly string[] {
  const members = membersOf(schema);
  const member = Object.hasOwn(members, name) ? members[name] : undefined;
  const types = isObject(member) ? textsIn(member['type']) : [];
  return types.includes('number') ? [...types, 'integer'] : types;
}

function otherType(own: JsonObject, theirs: JsonObject, name: string): string | undefined {
  const [ours, others] = [typesOf(own, name), typesOf(theirs, name)];
  if (ours.length === 0 || others.length === 0) return undefined;
  if (ours.some((type) => others.includes(type))) return undefined;
  return `"${name}" is ${others.join(' or ')} there and ${ours.join(' or ')} in the definition`;
}

/**
 * Why every call that `own` allows would be refused by `theirs`; undefined where some may be right. Only what must be
 * given counts: a definition may leave out what a server also takes, or narrow it.
 */
export function schemaConflict(own: JsonObject, theirs: JsonObject): string | undefined {
  const [ours, others] = [requiredOf(own), requiredOf(theirs)];
  const unknown = others.find((name) => !takes(own, name));
  if (unknown !== undefined) return `it requires "${unknown}", which the definition does not allow`;
  const refused = ours.find((name) => !takes(theirs, name));
  if (refused !== undefined) return `it does not take "${refused}", which the definition requires`;
  for (const name of new Set([...ours, ...others])) {
    const why = otherType(own, theirs, name);
    if (why !== undefined) return why;
  }
  return undefined;
}
