import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { Draft } from '../../../schemas/event.ts';
import { contentSchema } from '../../../schemas/generated/schemas.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import type { EventRecord } from './event-record.ts';
import { type Language, releaseLanguage } from './language.ts';
import { releaseSchemas } from './release-schemas.ts';

/** Checks of events against their schemas. Compiled on first use, one validator per schema. */

const compiled = new WeakMap<JsonObject, ValidateFunction>();

function newAjv(): Ajv2020 {
  const ajv = new Ajv2020({
    ...releaseSchemas,
    strict: true,
    allErrors: false,
    strictSchema: 'log',
    logger: false,
  });
  for (const keyword of ['x-record', 'x-writers', 'x-readers']) ajv.addKeyword(keyword);
  ajv.addSchema(contentSchema as Record<string, unknown>);
  return ajv;
}
const ajv = newAjv();

function validatorOf(schema: JsonObject): ValidateFunction {
  const known = compiled.get(schema);
  if (known !== undefined) return known;
  // Without its id: another release's schema may have the same.
  const { $id: _id, ...nameless } = schema;
  const validator = ajv.compile(nameless as Record<string, unknown>);
  compiled.set(schema, validator);
  return validator;
}

/** Readers are no part of what a schema describes. Few events name any. */
function withoutReaders(event: EventRecord): object {
  if (event.readers === undefined) return event;
  const { readers: _readers, ...written } = event;
  return written;
}

/** Says what is wrong with an event, or nothing. */
export function problemOfEvent(
  event: EventRecord,
  language: Language = releaseLanguage,
): string | undefined {
  const schema = language.schemaOf(event.type, event.version);
  if (schema === undefined) return `event ${event.type} version ${event.version} has no schema`;
  return problemBy(validatorOf(schema), event);
}

function problemBy(validator: ValidateFunction, event: EventRecord): string | undefined {
  const valid: boolean = validator(withoutReaders(event) as unknown);
  if (valid) return undefined;
  const first = validator.errors?.[0];
  return `event ${event.type}: ${first?.instancePath || '/'} ${first?.message ?? 'is not valid'}`;
}

const sealedShape = { digest: '0'.repeat(64), mediaType: 'application/json', bytes: 0 };

/** The same for a draft: its contents have no digests yet, so only their names are checked. */
export function problemOfDraft(
  draft: Draft,
  language: Language = releaseLanguage,
): string | undefined {
  const { type } = draft;
  const version = language.versionOf(type) ?? 1;
  const data = draft.data as JsonObject;
  if (draft.content === undefined) return problemOfEvent({ type, version, data }, language);
  const content: Record<string, typeof sealedShape> = {};
  for (const name of Object.keys(draft.content)) content[name] = sealedShape;
  return problemOfEvent({ type, version, data, content }, language);
}
