import { setTimeout as sleep } from 'node:timers/promises';
import {
  contentSchema,
  eventSchemas,
  publicSchemas,
  recordSchemas,
} from '../../../schemas/generated/schemas.ts';
import type { JsonObject, JsonValue } from '../../../schemas/json.ts';
import { LongreinError, toError } from '../errors.ts';
import { type Codec, createCodec } from './codec.ts';
import { openRegistration, type Registration } from './registry-client.ts';
import {
  guardedLevel,
  knownId,
  latestSchema,
  registryUnreachable,
  type SubjectVersion,
  subjectNames,
  versionsOfId,
} from './registry-requests.ts';

/**
 * Schemas at the registry: one subject per event, one per kind of record, one per public message. Compatibility is
 * BACKWARD: a release whose schemas cannot read what is in the log does not start.
 */

const parallelRequests = 8;

type Subject = Readonly<{ name: string; codecName: string | undefined; schema: JsonObject }>;

const titleOf = (schema: JsonObject): string => String(schema.$id).split(':').at(-2) ?? '';

/** The subject of an event's schema. Each version has its own: one does not have to read the other's events. */
export function eventSubject(schema: JsonObject): string {
  const version = String(schema.$id).split(':').at(-1);
  return `longrein.event.${titleOf(schema)}${version === 'v1' ? '' : `.${version}`}`;
}

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
    name: eventSubject(schema),
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

const conflict = 409;
const conflictsMax = 3;
const conflictWaitMs = 200;

/** `again`: so often it may be tried anew, for who makes a subject in the same moment as others is refused like one whose schema is. */
async function registerOne(
  register: Registration,
  subject: Subject,
  url: string,
  again = conflictsMax,
): Promise<number> {
  const level = await guardedLevel(url, subject.name);
  try {
    return await register(subject.name, subject.schema, level);
  } catch (thrown) {
    // Another host may have registered the same a moment ago.
    const known = await knownId(url, subject.name, subject.schema);
    if (known !== undefined) return known;
    if (again === 0 || statusOf(thrown) !== conflict) throw await refusal(subject, url, thrown);
    await sleep(conflictWaitMs);
    return registerOne(register, subject, url, again - 1);
  }
}

const statusOf = (thrown: unknown): number | undefined => (thrown as { status?: number }).status;

async function refusal(subject: Subject, url: string, thrown: unknown): Promise<LongreinError> {
  const { message } = toError(thrown);
  const status = statusOf(thrown);
  const { cause: reason } = thrown as { cause?: unknown };
  if (/ECONN|ENOTFOUND|socket|timeout/i.test(String(reason ?? message)))
    return registryUnreachable(url, thrown);
  if (status === conflict) return incompatible(subject, url, thrown);
  const said = `${subject.name}: the registry ${url} did not take the schema: ${message}`;
  return new LongreinError('REGISTRY_REFUSED', said, {
    fix: 'look at the log of the registry, and at the rights that this program has there',
    retryable: status === undefined || status >= 500,
    cause: thrown,
  });
}

async function incompatible(subject: Subject, url: string, cause: unknown): Promise<LongreinError> {
  const latest = await latestSchema(url, subject.name);
  const before = latest === undefined ? {} : (JSON.parse(latest) as JsonValue);
  const places = changedPaths(before, subject.schema, '').map(placeOf).slice(0, 5).join(', ');
  const message = `${subject.name}: the registry refuses this release's schema: changed at ${places}`;
  return new LongreinError('SCHEMA_INCOMPATIBLE', message, {
    fix: 'give the event a new version with an upcast instead of changing this one',
    cause,
  });
}

/** `/properties/data/properties/task/maxLength` as `data.task (maxLength)`. */
function placeOf(path: string): string {
  const [field = '', ...keywords] = path.replaceAll('/properties/', '.').split('/');
  const keyword = keywords.length === 0 ? '' : ` (${keywords.join('/')})`;
  return `${field.replace(/^\./, '') || 'the whole'}${keyword}`;
}

function changedPaths(before: JsonValue, after: JsonValue, path: string): string[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  if (!isObject(before) || !isObject(after)) return [path];
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
  const there = await subjectNames(url);
  const register = openRegistration(url);
  const ids = new Map<string, number>();
  const waiting = [...subjectsOf()];
  const worker = async (): Promise<void> => {
    for (let subject = waiting.shift(); subject !== undefined; subject = waiting.shift()) {
      const { name, schema } = subject;
      const known = there.has(name) ? await knownId(url, name, schema) : undefined;
      const id = known ?? (await registerOne(register, subject, url));
      if (subject.codecName !== undefined) ids.set(subject.codecName, id);
    }
  };
  await Promise.all(Array.from({ length: parallelRequests }, worker));
  return { ...createCodec(ids), isNewer: createVersionCheck(url, ids) };
}

/** See `Codec.isNewer`. What the registry said once is not asked again: an id never changes its meaning. */
function createVersionCheck(
  url: string,
  own: ReadonlyMap<string, number>,
): NonNullable<Codec['isNewer']> {
  const known = new Map<number, readonly SubjectVersion[]>();
  const versionIn = async (subject: string, id: number): Promise<number> => {
    const versions = known.get(id) ?? (await versionsOfId(url, id));
    if (versions.length > 0) known.set(id, versions);
    const name = `longrein.record.${subject}`;
    return Math.max(0, ...versions.filter((one) => one.subject === name).map((one) => one.version));
  };
  return async (subject, schemaId) => {
    const ownId = own.get(subject);
    if (schemaId === ownId) return false;
    const version = await versionIn(subject, schemaId);
    if (version === 0 || ownId === undefined) return false;
    return version > (await versionIn(subject, ownId));
  };
}
