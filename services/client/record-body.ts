import { createFixedCodec, isFramed } from '../chassis/log/codec.ts';
import type { LogRecord } from '../chassis/log/port.ts';

const codec = createFixedCodec();

/** The JSON of a record, framed or plain; undefined where it is neither. Needs no registry. */
export function bodyOfRecord(record: Pick<LogRecord, 'value'>): unknown {
  const { value } = record;
  if (value === null) return undefined;
  try {
    if (isFramed(value)) return codec.decode(value).body;
    return JSON.parse(Buffer.from(value).toString('utf8')) as unknown;
  } catch {
    // Bytes that nobody can read are nobody's record.
    return undefined;
  }
}
