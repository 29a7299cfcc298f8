import type { ClickHouseClient, Row } from '@clickhouse/client';
import { LongreinError, toError } from '../../services/chassis/errors.ts';
import {
  parseHeader,
  type RecordBody,
  type RecordHeader,
  type RecordKind,
} from '../../services/chassis/protocol/record.ts';
import { type ContentStores, fillFromStores } from './contents.ts';
import { withSharedPast } from './shared-past.ts';
import {
  acceptanceHeader,
  type SessionSource,
  type SourceRecord,
  sessionUnknown,
} from './source.ts';

/**
 * A session from the rows of `longrein.events`. Of other sessions only thin columns are read; nothing here uses the
 * column `effective`, which is one more reader's judgement.
 */

export type RowReading = ContentStores &
  Readonly<{
    client: ClickHouseClient;
    /** Address of the database, for messages. */
    address: string;
  }>;

type Place = Readonly<{
  topic: string;
  partition: number;
  first: number;
  last: number;
  low: number;
}>;

type OwnRow = Readonly<{ offset: string | number; record: string }>;

type OtherRow = Readonly<{
  offset: string | number;
  kind: string;
  id: string;
  service: string;
  epoch: string | number;
  incarnation: string;
  sequence: string | number;
  /** Only where the row does not say what the headers said. */
  record: string;
}>;

const ofPartition =
  'k_topic = {topic:String} AND k_partition = {partition:UInt16} AND event_index = 0';

const placeQuery = `
  SELECT k_topic AS topic, k_partition AS partition, min(k_offset) AS first, max(k_offset) AS last
  FROM longrein.events
  WHERE session_id = {session:String} AND kind IN ('turn', 'input', 'checkpoint')
  GROUP BY topic, partition ORDER BY count() DESC, topic LIMIT 1`;

const lowQuery = `
  SELECT min(k_offset) AS low FROM longrein.events WHERE ${ofPartition}`;

const ownQuery = `
  SELECT k_offset AS offset, record FROM longrein.events
  WHERE ${ofPartition} AND session_id = {session:String}
  ORDER BY offset LIMIT 1 BY offset`;

const otherQuery = `
  SELECT k_offset AS offset, kind, record_id AS id, service, epoch, incarnation, sequence,
    if(kind = 'foreign', record, '') AS record
  FROM longrein.events
  WHERE ${ofPartition} AND session_id != {session:String} AND k_offset <= {last:UInt64}
    AND (kind IN ('turn', 'checkpoint', 'epoch') OR (kind = 'foreign' AND status = 'unreadable'))
  ORDER BY offset LIMIT 1 BY offset`;

type Parameters = Readonly<Record<string, string | number>>;

function unreadable(reading: RowReading, thrown: unknown): LongreinError {
  if (thrown instanceof LongreinError) return thrown;
  const message = `ClickHouse at ${reading.address} cannot be read: ${toError(thrown).message}`;
  return new LongreinError('EVENTS_UNREADABLE', message, {
    fix: 'see whether ClickHouse runs, whether its schema is migrated, and whether this user may read longrein.events',
    retryable: true,
    cause: thrown,
  });
}

async function* rowsOf<T>(
  reading: RowReading,
  query: string,
  parameters: Parameters,
): AsyncGenerator<T> {
  try {
    const result = await reading.client.query({
      query,
      query_params: { ...parameters },
      format: 'JSONEachRow',
    });
    for await (const rows of result.stream<T>() as AsyncIterable<readonly Row<T>[]>)
      for (const row of rows) yield row.json() as T;
  } catch (thrown) {
    throw unreadable(reading, thrown);
  }
}

async function firstRow<T>(
  reading: RowReading,
  query: string,
  parameters: Parameters,
): Promise<T | undefined> {
  for await (const row of rowsOf<T>(reading, query, parameters)) return row;
  return undefined;
}

async function placeOf(reading: RowReading, session: string): Promise<Place | undefined> {
  type Found = Omit<Place, 'low'>;
  const found = await firstRow<Found>(reading, placeQuery, { session });
  if (found === undefined) return undefined;
  const { topic } = found;
  const partition = Number(found.partition);
  const lowest = await firstRow<{ low: number }>(reading, lowQuery, { topic, partition });
  const [first, last] = [Number(found.first), Number(found.last)];
  return { topic, partition, first, last, low: Number(lowest?.low ?? first) };
}

type WholeRecord = Readonly<{ headers: Record<string, string>; body?: RecordBody }>;

function wholeOf(text: string): { header: RecordHeader; body?: RecordBody } | undefined {
  const { headers, body } = JSON.parse(text) as WholeRecord;
  const header = parseHeader(headers);
  if (header === undefined) return undefined;
  return body?.kind === header.kind ? { header, body } : { header };
}

async function ownRecord(row: OwnRow, reading: RowReading): Promise<SourceRecord | undefined> {
  const whole = wholeOf(row.record);
  if (whole === undefined) return undefined;
  const offset = Number(row.offset);
  const { header, body } = whole;
  if (body === undefined) return { offset, header };
  const filled = await fillFromStores(body, header, reading);
  const open = (session: string) => readIfThere(reading, session);
  return { offset, header, body: await withSharedPast(filled, open) };
}

async function readIfThere(
  reading: RowReading,
  session: string,
): Promise<SessionSource | undefined> {
  const place = await placeOf(reading, session);
  return place === undefined ? undefined : sourceAt(reading, place, session);
}

function otherRecord(row: OtherRow): SourceRecord | undefined {
  const offset = Number(row.offset);
  if (row.record !== '') {
    const header = wholeOf(row.record)?.header;
    return header === undefined ? undefined : { offset, header };
  }
  const { id, service, incarnation } = row;
  const isEpoch = row.kind === 'epoch';
  const header = acceptanceHeader({
    kind: row.kind as RecordKind,
    ...{ id, incarnation },
    service: isEpoch ? '' : service,
    services: isEpoch ? service.split(',') : [],
    epoch: Number(row.epoch),
    sequence: Number(row.sequence),
  });
  return { offset, header };
}

async function* recordsOf(
  reading: RowReading,
  place: Place,
  session: string,
): AsyncGenerator<SourceRecord> {
  const { topic, partition, last } = place;
  const parameters = { topic, partition, session };
  const own: SourceRecord[] = [];
  for await (const row of rowsOf<OwnRow>(reading, ownQuery, parameters)) {
    const record = await ownRecord(row, reading);
    if (record !== undefined) own.push(record);
  }
  let next = 0;
  for await (const row of rowsOf<OtherRow>(reading, otherQuery, { ...parameters, last })) {
    const record = otherRecord(row);
    if (record === undefined) continue;
    for (; (own[next]?.offset ?? Number.POSITIVE_INFINITY) < record.offset; next++)
      yield own[next] as SourceRecord;
    yield record;
  }
  yield* own.slice(next);
}

/**
 * A session as ClickHouse has it now. Throws LongreinError SESSION_UNKNOWN, EVENTS_UNREADABLE (retryable).
 */
export async function readFromClickHouse(
  reading: RowReading,
  session: string,
): Promise<SessionSource> {
  const place = await placeOf(reading, session);
  if (place === undefined) {
    const fix =
      'it may not be stored yet (see `longrein status` for the lag); the log itself has every session that runs';
    throw sessionUnknown(session, `ClickHouse at ${reading.address}`, fix);
  }
  return sourceAt(reading, place, session);
}

function sourceAt(reading: RowReading, place: Place, session: string): SessionSource {
  const { topic, partition, low } = place;
  return {
    session,
    topic,
    partition,
    origin: `clickhouse ${reading.address} ${topic}/${partition}`,
    from: low,
    acceptance: {},
    whole: low === 0,
    records: () => recordsOf(reading, place, session),
  };
}
