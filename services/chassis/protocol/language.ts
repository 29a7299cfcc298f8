import { eventSchemas } from '../../../schemas/generated/schemas.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { type Upcasts, upcasts } from '../../../schemas/upcasts.ts';
import type { EventRecord } from './event-record.ts';

/**
 * Which events a release understands (DESIGN 3.14, "Upgrades"). What it does not understand was written by a newer one:
 * that is no failure, it stands by.
 *
 * L1 An event is understood in the newest version that the release knows, whatever version was written.
 * L2 An event that is not understood concerns every service, unless its record names its readers.
 */
export type Language = Readonly<{
  /** The newest version of an event type; undefined for a type that the release does not know. */
  versionOf(type: string): number | undefined;
  schemaOf(type: string, version: number): JsonObject | undefined;
  /** The only services that have to understand the event; undefined: all, and the rules of the log as well. */
  readersOf(type: string): readonly string[] | undefined;
  /** The event in its newest version; undefined where its type or its version is not known. */
  understand(event: EventRecord): EventRecord | undefined;
}>;

type Chain = Upcasts[string];

type Entry = {
  version: number;
  readers: readonly string[] | undefined;
  readonly schemas: Map<number, JsonObject>;
};

function constantOf(schema: JsonObject, name: string): unknown {
  const properties = schema['properties'] as Readonly<Record<string, JsonObject>>;
  return properties[name]?.['const'];
}

function entriesOf(schemas: readonly JsonObject[]): Map<string, Entry> {
  const entries = new Map<string, Entry>();
  for (const schema of schemas) {
    const type = String(constantOf(schema, 'type'));
    const version = Number(constantOf(schema, 'version'));
    const readers = schema['x-readers'] as readonly string[] | undefined;
    const entry = entries.get(type) ?? { version, readers, schemas: new Map() };
    entries.set(type, entry);
    entry.schemas.set(version, schema);
    if (version >= entry.version) Object.assign(entry, { version, readers });
  }
  return entries;
}

function upcastTo(newest: number, event: EventRecord, chain: Chain | undefined): EventRecord {
  let current = event;
  for (let version = event.version; version < newest; version++) {
    const step = chain?.[version];
    if (step === undefined)
      throw new Error(`event ${event.type} version ${version} has no upcast to the next`);
    const { data, content } = current;
    const { type, readers } = event;
    const form = step(content === undefined ? { data } : { data, content });
    const named = readers === undefined ? {} : { readers };
    current = { type, version: version + 1, ...form, ...named };
  }
  return current;
}

/**
 * The language of these schemas. Throws where a version that is not the newest has no upcast: such a release must not
 * start.
 */
export function createLanguage(
  schemas: readonly JsonObject[],
  chains: Upcasts = upcasts,
): Language {
  const entries = entriesOf(schemas);
  for (const [type, { version: newest, schemas: versions }] of entries) {
    for (const version of versions.keys()) {
      if (version < newest && chains[type]?.[version] === undefined)
        throw new Error(`event ${type} version ${version} has no upcast to the next`);
    }
  }
  return {
    versionOf: (type) => entries.get(type)?.version,
    schemaOf: (type, version) => entries.get(type)?.schemas.get(version),
    readersOf: (type) => entries.get(type)?.readers,
    understand(event) {
      const entry = entries.get(event.type);
      if (entry === undefined || event.version === entry.version)
        return entry === undefined ? undefined : event;
      if (!entry.schemas.has(event.version)) return undefined;
      return upcastTo(entry.version, event, chains[event.type]);
    },
  };
}

/** What this release understands. */
export const releaseLanguage: Language = createLanguage(eventSchemas);
