import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import { type Codec, isFramed } from '../chassis/log/codec.ts';
import type { LogRecord } from '../chassis/log/port.ts';
import { parseHeader, type RecordBody, type RecordHeader } from '../chassis/protocol/record.ts';

/**
 * A record of any topic, read as far as it can be. Contents that lie in the blob store stay there: rows keep their
 * names, and judging a record needs none of them.
 */
export type DecodedRecord = Readonly<{
  log: LogRecord;
  /** Headers of a record of a session log; undefined for a record of another program. */
  header: RecordHeader | undefined;
  /** The value as JSON; undefined where it is none. */
  value: JsonValue | undefined;
}>;

/** Never throws: what cannot be read is kept as bytes. */
export function decodeRecord(log: LogRecord, codec: Codec): DecodedRecord {
  return { log, header: headerOf(log), value: jsonOf(log, codec) };
}

function headerOf(log: LogRecord): RecordHeader | undefined {
  try {
    return parseHeader(log.headers);
  } catch {
    // Headers that look like ours and are not: the record is of another program.
    return undefined;
  }
}

function jsonOf({ value }: LogRecord, codec: Codec): JsonValue | undefined {
  if (value === null) return undefined;
  try {
    if (isFramed(value)) return codec.decode(value).body as JsonValue;
    const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    return JSON.parse(bytes.toString('utf8')) as JsonValue;
  } catch {
    return undefined;
  }
}

/** The value as the body of a session log's record, if it has the outer shape of one. */
export function bodyOf(record: DecodedRecord): RecordBody | undefined {
  const { header, value } = record;
  if (header === undefined || !isObject(value) || value.kind !== header.kind) return undefined;
  const body = value as unknown as RecordBody;
  if (body.kind === 'turn') return hasEvents(body.events) ? body : undefined;
  if (body.kind === 'input') return isObject(body.event) ? body : undefined;
  return body;
}

const hasEvents = (events: unknown): boolean =>
  Array.isArray(events) && events.length > 0 && events.every(isObject);

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
