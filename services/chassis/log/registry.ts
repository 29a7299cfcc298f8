import confluent from '@kafkajs/confluent-schema-registry';
import {
  contentSchema,
  eventSchemas,
  publicSchemas,
  recordSchemas,
} from '../../../schemas/generated/schemas.ts';
import type { JsonObject, JsonValue } from '../../../schemas/json.ts';
import { LongreinError, toError } from '../errors.ts';
import { type Codec, createCodec } from './codec.ts';

const { SchemaRegistry, SchemaType, COMPATIBILITY } = confluent;

/**
 * Schemas at the registry: one subject per event, one per kind of record, one per public message. Compatibility is
 * BACKWARD: a release whose schemas cannot read what is in the log does not start.
 */

const parallelRequests = 8;

type Subject = Readonly<{ name: string; codecName: string | undefined; schema: JsonObject }>;

const titleOf = (schema: JsonObject): string => String(schema.$id).split(':').at(-2) ?? '';

/** `$ref` to other documents and own keywords are not for the registry: events are inlined by name only. */
function forRegistry(schema: JsonObject, definitions: Record<string, JsonObject>): JsonObject {
  const rest = Object.fromEntries(
    Object.entries(schema).filter(([name]) => !/^(\$|x-)/.test(name)),
  );
  const text = JSON.stringify(rest).replaceAll(
    '"urn:longrein:content:v1"',
    '"#/definitions/ContentV1"',
  );
  const used = text.includes('#/definitions/ContentV1') ? { definitions } : {};
  const dialect = 'http://json-schema.org/draft-07/schema#';
  return { $schema: dialect, ...(JSON.parse(text) as JsonObject), ...used };
}

/** In the registry a turn's events are named, not spelled out: each has its own subject, checked there. */
function namedEvents(schema: JsonObject): JsonObject {
  const text = JSON.stringify(schema, (key, value: JsonValue) =>
    key === 'oneOf' && Array.isArray(value) && isEventList(value) ? undefined : value,
  );
  return JSON.parse(text) as JsonObject;
}

const isEventList = (list: readonly JsonValue[]): boolean =>
  list.some((one) => String((one as JsonObject)?.$ref ?? '').startsWith('urn:longrein:event:'));

/** Every subject, in the order in which they are registered. */
export function subjectsOf(): readonly Subject[] {
  const { $schema: _dialect, $id: _id, ...content } = contentSchema;
  const definitions = { ContentV1: content };
  const events = eventSchemas.map((schema) => ({
    name: `longrein.event.${titleOf(schema)}`,
    codecName: undefined,
    schema: forRegistry(schema, definitions),
  }));
  const records = recordSchemas.map((schema) => ({
    name: `longrein.record.${titleOf(schema)}`,
    codecName: titleOf(schema),
    schema: forRegistry(namedEvents(schema), definitions),
  }));
  const open = publicSchemas.map((schema) => ({
    name: `longrein.${titleOf(schema)}`,
    codecName: titleOf(schema),
    schema: forRegistry(schema, definitions),
  }));
  const anything = { type: 'object' };
  const state = ['watermark', 'presence'].map((name) => ({
    name: `longrein.${name}`,
    codecName: name,
    schema: { $schema: 'http://json-schema.org/draft-07/schema#', title: name, ...anything },
  }));
  return [...events, ...records, ...open, ...state];
}

function unreachable(url: string, thrown: unknown): LongreinError {
  return new LongreinError(
    'REGISTRY_UNREACHABLE',
    `schema registry ${url} cannot be reached: ${toError(thrown).message}`,
    {
      fix: 'start it (`longrein up`) or correct LONGREIN_REGISTRY_URL',
      retryable: true,
      cause: thrown,
    },
  );
}

async function reachable(url: string): Promise<void> {
  try {
    const answer = await fetch(`${url}/subjects`, { signal: AbortSignal.timeout(8_000) });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
  } catch (thrown) {
    throw unreachable(url, thrown);
  }
}

async function registerOne(
  registry: InstanceType<typeof SchemaRegistry>,
  subject: Subject,
  url: string,
): Promise<number> {
  try {
    const type: typeof SchemaType.JSON = SchemaType.JSON;
    const schema = { type, schema: JSON.stringify(subject.schema) };
    const options = { subject: subject.name, compatibility: COMPATIBILITY.BACKWARD };
    return (await registry.register(schema, options)).id;
  } catch (thrown) {
    const { message } = toError(thrown);
    const network = /ECONN|ENOTFOUND|socket|timeout/i.test(
      String((thrown as { cause?: unknown }).cause ?? message),
    );
    if (network) throw unreachable(url, thrown);
    throw new LongreinError(
      'SCHEMA_INCOMPATIBLE',
      `${subject.name}: the registry refuses this release's schema: ${await difference(subject, url, message)}`,
      {
        fix: 'give the event a new version with an upcast instead of changing this one',
        cause: thrown,
      },
    );
  }
}

/** The id under which exactly this schema stands at the registry already; one question instead of three. */
async function knownId(subject: Subject, url: string): Promise<number | undefined> {
  const body = JSON.stringify({ schemaType: 'JSON', schema: JSON.stringify(subject.schema) });
  const headers = { 'content-type': 'application/vnd.schemaregistry.v1+json' };
  const answer = await fetch(`${url}/subjects/${encodeURIComponent(subject.name)}`, {
    method: 'POST',
    headers,
    body,
    signal: AbortSignal.timeout(10_000),
  }).catch((thrown: unknown) => {
    throw unreachable(url, thrown);
  });
  if (!answer.ok) return undefined;
  const { id } = (await answer.json()) as { id?: number };
  return typeof id === 'number' ? id : undefined;
}

/** Names the fields that differ from the newest schema at the registry. */
async function difference(subject: Subject, url: string, message: string): Promise<string> {
  try {
    const answer = await fetch(
      `${url}/subjects/${encodeURIComponent(subject.name)}/versions/latest`,
    );
    const { schema } = (await answer.json()) as { schema: string };
    const fields = changedPaths(JSON.parse(schema) as JsonValue, subject.schema, '');
    return fields.length === 0 ? message : `changed at ${fields.slice(0, 5).join(', ')}`;
  } catch {
    return message;
  }
}

function changedPaths(before: JsonValue, after: JsonValue, path: string): string[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  if (!isObject(before) || !isObject(after))
    return [path.replaceAll('/properties/', '.').replace(/^\./, '')];
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name) =>
    changedPaths(before[name] ?? null, after[name] ?? null, `${path}/${name}`),
  );
}

const isObject = (value: JsonValue): value is JsonObject =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

/**
 * Registers all schemas and answers the codec over their ids. Throws LongreinError REGISTRY_UNREACHABLE (retryable) or
 * SCHEMA_INCOMPATIBLE, which names the event and the field.
 */
export async function createRegistryCodec(url: string): Promise<Codec> {
  await reachable(url);
  const registry = new SchemaRegistry({ host: url, retry: { retries: 1 } });
  const ids = new Map<string, number>();
  const waiting = [...subjectsOf()];
  const worker = async (): Promise<void> => {
    for (let subject = waiting.shift(); subject !== undefined; subject = waiting.shift()) {
      const id = (await knownId(subject, url)) ?? (await registerOne(registry, subject, url));
      if (subject.codecName !== undefined) ids.set(subject.codecName, id);
    }
  };
  await Promise.all(Array.from({ length: parallelRequests }, worker));
  return createCodec(ids);
}
