import type { JsonObject } from '../../../schemas/json.ts';

/** Puts a schema under the name of its subject, which has this compatibility; answers its id. */
export type Registration = (name: string, schema: JsonObject, level: string) => Promise<number>;

/**
 * The client library compiles every schema that it sends. Nothing is encoded with what it compiled, and that alone took
 * five seconds of processor time where all schemas are new: tests say that they compile, and the registry reads them.
 */
const uncompiled = {
  compile: () => Object.assign(() => true, { errors: null }),
  addSchema: (): never => {
    throw new Error('schemas at the registry refer to no other');
  },
};

async function openClient(url: string): Promise<Registration> {
  const { default: confluent } = await import('@kafkajs/confluent-schema-registry');
  const { COMPATIBILITY, SchemaRegistry, SchemaType } = confluent;
  const options = { [SchemaType.JSON]: { ajvInstance: uncompiled } };
  const registry = new SchemaRegistry({ host: url, retry: { retries: 1 } }, options);
  const type: typeof SchemaType.JSON = SchemaType.JSON;
  return async (subject, schema, level) => {
    const compatibility = COMPATIBILITY[level as keyof typeof COMPATIBILITY];
    const written = { type, schema: JSON.stringify(schema) };
    return (await registry.register(written, { subject, compatibility })).id;
  };
}

/** Most hosts find all schemas registered: the library, with the languages that it knows besides, is loaded when one is not. */
export function openRegistration(url: string): Registration {
  let client: Promise<Registration> | undefined;
  return async (name, schema, level) => {
    client ??= openClient(url);
    return (await client)(name, schema, level);
  };
}
