import { eventSchemas } from '../../schemas/generated/schemas.ts';
import type { JsonValue } from '../../schemas/json.ts';
import type { Pseudonyms } from './pseudonyms.ts';

/** Values with other names in them. Numbers, truth values and the shape stay. */

/** Members of an event's data whose text is a word of this program, not of its users. */
const ownMembers: ReadonlySet<string> = new Set([
  ...['code', 'version', 'toolVersion', 'priceVersion', 'lane', 'topic', 'destinations'],
  ...['isolation', 'exit', 'runner', 'service'],
]);

/** What stands in names of timers besides names of tasks and agents. */
const timerWords: ReadonlySet<string> = new Set([
  'supervisor',
  'worker',
  'pool',
  'task',
  'retry',
  'session',
]);

/** Names of members by which bodies are read: of plans, agents, tools, messages. */
const bodyMembers: ReadonlySet<string> = new Set([
  ...['agent', 'agents', 'arguments', 'argumentBytesMax', 'attemptsMax', 'backoffMs', 'category'],
  ...['conflict', 'default', 'description', 'fix', 'id', 'idempotent', 'input', 'inputSchema'],
  ...['inputs', 'isError', 'kind', 'message', 'messages', 'model', 'modelAttemptsMax'],
  ...['modelTimeoutMs', 'models', 'name', 'needs', 'onFailure', 'output', 'outputSchema'],
  ...['outputTokensMax', 'plan', 'pool', 'priority', 'prompt', 'properties', 'reason', 'reasoning'],
  ...['required', 'result', 'resultBytesMax', 'risk', 'role', 'roles', 'runner', 'server', 'shape'],
  ...['sideEffects', 'steps', 'stepsMax', 'system', 'tasks', 'text', 'timeoutMs', 'tool'],
  ...['toolCallId', 'toolCalls', 'toolName', 'tools', 'type', 'version', 'when', 'where'],
]);

/** Words of bodies that say what something is. */
const bodyWords: ReadonlySet<string> = new Set([
  ...['system', 'user', 'assistant', 'tool', 'model', 'procedure', 'builtin', 'mcp', 'sandbox'],
  ...['array', 'boolean', 'number', 'integer', 'object', 'string', 'text', 'json', 'collect'],
  ...['merge', 'first', 'last', 'list', 'fail', 'continue', 'none', 'read', 'write', 'destructive'],
  ...['low', 'medium', 'high', 'critical', 'javascript'],
]);
const tellingMembers: ReadonlySet<string> = new Set([
  ...['role', 'kind', 'type', 'output', 'onFailure', 'conflict', 'sideEffects', 'risk', 'language'],
  'version',
]);

function enumsIn(schema: JsonValue, found: Set<string>): Set<string> {
  if (typeof schema !== 'object' || schema === null) return found;
  const { enum: listed } = schema as { enum?: JsonValue };
  if (Array.isArray(listed)) for (const one of listed) found.add(String(one));
  for (const member of Object.values(schema)) enumsIn(member as JsonValue, found);
  return found;
}

/** Words that schemas list: states, classes, reasons. */
const listedWords = enumsIn(eventSchemas as unknown as JsonValue, new Set());

type Rules = Readonly<{
  text(text: string, member: string): string;
  member(name: string): string;
}>;

function rewrite(value: JsonValue, rules: Rules, member: string): JsonValue {
  if (typeof value === 'string') return rules.text(value, member);
  if (Array.isArray(value)) return value.map((one) => rewrite(one, rules, member));
  if (typeof value !== 'object' || value === null) return value;
  const pairs = Object.entries(value).map(([name, one]) => {
    return [rules.member(name), rewrite(one as JsonValue, rules, name)] as const;
  });
  return Object.fromEntries(pairs);
}

/** The data of an event, or of facts. */
export function otherData<T extends object>(data: T, names: Pseudonyms): T {
  const text = (one: string, member: string): string => {
    if (listedWords.has(one) || ownMembers.has(member)) return names.id(one);
    return names.text(one, member === 'timer' ? timerWords : undefined);
  };
  const rules = { text, member: (name: string) => names.id(name) };
  return rewrite(data as JsonValue, rules, '') as T;
}

/** The body of a content: names of members are replaced too, except those by which it is read. */
export function otherBody(body: JsonValue, names: Pseudonyms): JsonValue {
  const text = (one: string, member: string): string =>
    tellingMembers.has(member) && (bodyWords.has(one) || member === 'version')
      ? one
      : names.inMember(one, member);
  const rules = {
    text,
    member: (name: string) => (bodyMembers.has(name) ? name : names.text(name)),
  };
  return rewrite(body, rules, '');
}

/** A service by its name: a pool is named by its users. */
export function otherService(service: string, names: Pseudonyms): string {
  const [kind = '', pool] = service.split(':');
  return pool === undefined ? kind : `${kind}:${names.text(pool)}`;
}

export const otherLabels = (
  labels: Readonly<Record<string, string>>,
  names: Pseudonyms,
): Record<string, string> =>
  Object.fromEntries(
    Object.entries(labels).map(([name, value]) => [names.text(name), names.text(value)]),
  );
