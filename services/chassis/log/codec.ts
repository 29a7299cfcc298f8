import { LongreinError, toError } from '../errors.ts';

/**
 * Bytes of a record: the Confluent wire format, one zero byte, the schema's id as four bytes big-endian, then JSON.
 * The ids come from a registry, or are fixed where there is none (simulation, exports).
 */
export type Codec = Readonly<{
  encode(subject: string, body: object): Uint8Array;
  decode(value: Uint8Array): Decoded;
  /**
   * Whether this schema is a later version of the subject than the one that this release registered: a newer release
   * wrote it. Throws a retryable LongreinError where the registry cannot be asked. Without a registry there is none.
   */
  isNewer?(subject: string, schemaId: number): Promise<boolean>;
}>;

/** `subject` is undefined where the id is none that this release registered. */
export type Decoded = Readonly<{ schemaId: number; subject: string | undefined; body: unknown }>;

export const subjects = [
  'turn',
  'input',
  'checkpoint',
  'epoch',
  'goal',
  'result',
  'watermark',
  'presence',
  'dead-letter',
  'approval-request',
  'progress',
] as const;

const headerBytes = 5;

function frame(id: number, body: object): Uint8Array {
  const json = JSON.stringify(body);
  const bytes = Buffer.allocUnsafe(headerBytes + Buffer.byteLength(json, 'utf8'));
  bytes.writeUInt8(0, 0);
  bytes.writeUInt32BE(id, 1);
  bytes.write(json, headerBytes, 'utf8');
  return bytes;
}

/** Whether the bytes start like a framed record. JSON never starts with a zero byte. */
export const isFramed = (value: Uint8Array): boolean =>
  value.length > headerBytes && value[0] === 0;

function unframe(value: Uint8Array): { id: number; json: string } {
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  if (!isFramed(bytes)) {
    throw new LongreinError('RECORD_NOT_FRAMED', 'the value does not start with a schema id');
  }
  return { id: bytes.readUInt32BE(1), json: bytes.toString('utf8', headerBytes) };
}

/** The schema id of a framed value, whatever follows it. */
export const schemaIdOf = (value: Uint8Array): number | undefined =>
  isFramed(value) ? unframe(value).id : undefined;

/** A codec over known ids: subject -> id. */
export function createCodec(ids: ReadonlyMap<string, number>): Codec {
  const byId = new Map([...ids].map(([subject, id]) => [id, subject]));
  return {
    encode(subject, body) {
      const id = ids.get(subject);
      if (id === undefined)
        throw new LongreinError('SCHEMA_NOT_REGISTERED', `no schema id for ${subject}`);
      return frame(id, body);
    },
    decode(value) {
      const { id, json } = unframe(value);
      try {
        return { schemaId: id, subject: byId.get(id), body: JSON.parse(json) as unknown };
      } catch (thrown) {
        const { message } = toError(thrown);
        if (!byId.has(id)) {
          const why = `the schema id ${id} is not known, and what follows it is not JSON`;
          throw new LongreinError('SCHEMA_ID_UNKNOWN', why, { cause: thrown });
        }
        throw new LongreinError('RECORD_NOT_JSON', `the value is not JSON: ${message}`, {
          cause: thrown,
        });
      }
    },
  };
}

/** Ids without a registry: the place in the list, from 1. */
export const createFixedCodec = (): Codec =>
  createCodec(new Map(subjects.map((subject, index) => [subject, index + 1])));
