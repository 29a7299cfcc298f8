import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import { isFramed } from '../chassis/log/codec.ts';
import type { LogRecord } from '../chassis/log/port.ts';
import { parseHeader, type RecordBody, type RecordHeader } from '../chassis/protocol/record.ts';

/**
 * A record of any topic, read as far as it can be. Contents that lie in the blob store stay there:
 * rows keep their names, and judging a record needs none of them.
 */
export type DecodedRecord = Readonly<{
  log: LogRecord;
  /** Headers of a record of a session log; undefined for a record of another program. */
  header: RecordHeader | undefined;
  /** The value as JSON, and its text as it was written; undefined where it is none. */
  value: JsonValue | undefined;
  text: string | undefined;
}>;

/** One zero byte and the schema's id: JSON begins behind them. */
const frameBytes = 5;

/** Never throws: what cannot be read is kept as bytes. */
export const decodeRecord = (log: LogRecord): DecodedRecord => decodeWith(log, headerOf(log));

/** The same where the header is known already. */
export function decodeWith(log: LogRecord, header: RecordHeader | undefined): DecodedRecord {
  const text = textIn(log);
  const value = text === undefined ? undefined : parse(text);
  return { log, header, value, text: value === undefined ? undefined : text };
}

function headerOf(log: LogRecord): RecordHeader | undefined {
  try {
    return parseHeader(log.headers);
  } catch {
    // Headers that look like ours and are not: the record is of another program.
    return undefined;
  }
}

function textIn({ value }: LogRecord): string | undefined {
  if (value === null) return undefined;
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return bytes.toString('utf8', isFramed(value) ? frameBytes : 0);
}

function parse(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
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
