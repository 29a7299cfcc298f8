import type { DataOf } from '../../../schemas/event.ts';
import { LongreinError } from '../errors.ts';
import { accept, copyAcceptance } from '../protocol/acceptance.ts';
import {
  type InputBody,
  type PlacedRecord,
  parseHeader,
  type RecordBody,
  type RecordHeader,
} from '../protocol/record.ts';
import type { Codec } from './codec.ts';
import { readPartition } from './partition-reader.ts';
import type { LogPort, LogRecord } from './port.ts';

/** Reads the past that a fork's opening shares (`protocol/forked-past.ts`): from where it stands, by the rules of the log. */

/** The record with its contents, from wherever they are; undefined where they were erased. */
export type FillBody = (body: RecordBody, header: RecordHeader) => Promise<RecordBody | undefined>;
export type PastReading = Readonly<{ log?: LogPort; codec: Codec; fill: FillBody }>;
type Shared = DataOf<'session.forked'>;

function gone({ of, topic, partition, from, to }: Shared, why: string): LongreinError {
  const message = `the past of ${of} (${topic}/${partition}, ${from} to ${to}) cannot be shared: ${why}`;
  return new LongreinError('PAST_GONE', message, {
    fix: 'fork a session whose log is still there',
  });
}

/** Bytes that nobody can read are nobody's record, there as here. */
function decoded({ value }: LogRecord, { codec }: PastReading): RecordBody | undefined {
  try {
    return codec.decode(value ?? new Uint8Array()).body as RecordBody;
  } catch (thrown) {
    if (thrown instanceof LongreinError && !thrown.retryable) return undefined;
    throw thrown;
  }
}

async function bodyOf(
  record: LogRecord,
  header: RecordHeader,
  reading: PastReading,
): Promise<RecordBody | undefined> {
  const body = decoded(record, reading);
  const filled = body === undefined ? undefined : await reading.fill(body, header);
  return filled === undefined ? undefined : await withPast(filled, reading);
}

/**
 * The accepted turns and inputs that the opening shares, in order, each with its own past where it is a fork's opening.
 * Throws LongreinError PAST_GONE, and what the log and the blobs throw.
 */
export async function readPast(
  reading: PastReading,
  shared: Shared,
): Promise<readonly PlacedRecord[]> {
  const { topic, partition, from, to } = shared;
  const { log } = reading;
  if (log === undefined) throw gone(shared, 'there is no log at hand');
  const bounds = (await log.bounds(topic)).get(partition);
  if (bounds === undefined || bounds.low > from || bounds.high <= to)
    throw gone(shared, `the log is there from ${bounds?.low ?? 0} to ${bounds?.high ?? 0}`);
  const acceptance = copyAcceptance(shared.acceptance);
  const past: PlacedRecord[] = [];
  const range = { low: from, high: to + 1 };
  for await (const record of readPartition(log, { topic, partition }, range)) {
    const header = parseHeader(record.headers);
    if (header === undefined) continue;
    const counts = accept(acceptance, header) && header.session === shared.of;
    if (!counts || (header.kind !== 'turn' && header.kind !== 'input')) continue;
    const body = await bodyOf(record, header, reading);
    if (body !== undefined) past.push({ offset: record.offset, header, body });
  }
  const last = past.at(-1)?.header.id;
  if (last !== shared.last) throw gone(shared, `it ends with ${last}, not with ${shared.last}`);
  return past;
}

/** Whether the record opens a fork. */
export const sharesPast = (body: RecordBody): body is InputBody =>
  body.kind === 'input' && body.event.type === 'session.forked';

/** The record with the past that it shares, where it is the opening of a fork. Throws as `readPast`. */
export async function withPast(body: RecordBody, reading: PastReading): Promise<RecordBody> {
  if (!sharesPast(body)) return body;
  const shared = body.event.data as unknown as Shared;
  return { ...body, past: await readPast(reading, shared) };
}
