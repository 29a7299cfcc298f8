import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { Draft } from '../../../schemas/event.ts';
import { contentSchema, eventSchemas } from '../../../schemas/generated/schemas.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import type { EventRecord } from './seal.ts';

/** Checks of events against their schemas. Compiled on first use, one validator per event type and version. */

const schemaOf = new Map<string, JsonObject>(
  eventSchemas.map((schema) => {
    const properties = schema['properties'] as Record<string, JsonObject>;
    return [
      `${String(properties['type']?.['const'])}.v${String(properties['version']?.['const'])}`,
      schema,
    ];
  }),
);

const compiled = new Map<string, ValidateFunction>();
const ajv = new Ajv2020({ strict: true, allErrors: false, strictSchema: 'log', logger: false });
ajv.addKeyword('x-record');
ajv.addKeyword('x-writers');
ajv.addSchema(contentSchema as Record<string, unknown>);

function validatorOf(type: string, version: number): ValidateFunction | undefined {
  const name = `${type}.v${version}`;
  const known = compiled.get(name);
  if (known !== undefined) return known;
  const schema = schemaOf.get(name);
  if (schema === undefined) return undefined;
  const validator = ajv.compile(schema as Record<string, unknown>);
  compiled.set(name, validator);
  return validator;
}

/** Says what is wrong with an event, or nothing. */
export function problemOfEvent(event: EventRecord): string | undefined {
  const validator = validatorOf(event.type, event.version);
  if (validator === undefined) return `event ${event.type} version ${event.version} has no schema`;
  const valid: boolean = validator(event as unknown);
  if (valid) return undefined;
  const first = validator.errors?.[0];
  return `event ${event.type}: ${first?.instancePath || '/'} ${first?.message ?? 'is not valid'}`;
}

const sealedShape = { digest: '0'.repeat(64), mediaType: 'application/json', bytes: 0 };

/** The same for a draft: its contents have no digests yet, so only their names are checked. */
export function problemOfDraft(draft: Draft): string | undefined {
  const head = { type: draft.type, version: 1, data: draft.data as JsonObject };
  if (draft.content === undefined) return problemOfEvent(head);
  const content = Object.fromEntries(Object.keys(draft.content).map((name) => [name, sealedShape]));
  return problemOfEvent({ ...head, content });
}
