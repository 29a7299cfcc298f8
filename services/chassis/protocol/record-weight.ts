import type { EventRecord } from './event-record.ts';
import type { RecordBody } from './record.ts';

/** What a record and an event take beside their contents, in bytes: as measured, rounded. */
const recordBytes = 400;
const eventBytes = 200;

function contentBytes({ content }: EventRecord): number {
  let bytes = eventBytes;
  for (const one of Object.values(content ?? {})) bytes += one.bytes;
  return bytes;
}

/** About how many bytes a record adds to the history of its session, wherever its contents are kept. */
export function weightOf(body: RecordBody): number {
  if (body.kind === 'input') return recordBytes + contentBytes(body.event);
  if (body.kind !== 'turn') return recordBytes;
  return body.events.reduce((bytes, one) => bytes + contentBytes(one), recordBytes);
}
