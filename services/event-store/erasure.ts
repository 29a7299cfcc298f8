import type { ClickHouseClient } from '@clickhouse/client';
import { LongreinError } from '../chassis/errors.ts';
import { bareContentText, bareRecordText } from './bare-text.ts';

/**
 * Contents of erased sessions leave their rows; what the rows say of time, money and states stays. It is a mutation: rows
 * that were inserted again would be counted twice by everything that sums what comes in.
 */

/** One record of one topic. */
export type RowPlace = Readonly<{ topic: string; partition: number; offset: number }>;

export type ErasedRows = Readonly<{
  /** Sessions and their goals' logs. */
  sessions: readonly string[];
  /** Other records that are about them: goals as they were published. */
  places: readonly RowPlace[];
}>;

type Row = Readonly<{
  topic: string;
  partition: number;
  offset: string;
  index: number;
  session: string;
  content: string;
  record: string;
}>;

const columns = `k_topic AS topic, k_partition AS partition, toString(k_offset) AS offset,
  event_index AS index, session_id AS session, content, record`;

/** So much text goes into one statement; the server parses it as a whole. */
const pageBytesMax = 2_000_000;
const queryBytesMax = 64_000_000;

const literal = (text: string): string =>
  `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

const nameOf = ({ topic, partition, offset, index }: Row): string =>
  `${topic}/${partition}/${offset}#${index}`;

const placeOf = ({ topic, partition, offset }: RowPlace | Row): string =>
  `(${literal(topic)},${partition},${offset})`;

const rowName = `concat(k_topic, '/', toString(k_partition), '/', toString(k_offset), '#', toString(event_index))`;

const events = 'longrein.events';

/** The statement that puts these texts into these rows. */
export function erasureStatement(rows: readonly Row[], table = events): string {
  const names = rows.map((row) => literal(nameOf(row))).join(',');
  const texts = (column: 'content' | 'record') => rows.map((row) => literal(row[column])).join(',');
  const changed = (column: 'content' | 'record') =>
    `${column} = transform(${rowName}, [${names}], [${texts(column)}], ${column})`;
  const places = [...new Set(rows.map(placeOf))].join(',');
  return `ALTER TABLE ${table} UPDATE ${changed('content')}, ${changed('record')}
    WHERE (k_topic, k_partition, k_offset) IN (${places}) SETTINGS mutations_sync = 2`;
}

/**
 * Erases contents from the rows of a table. Answers how many had any; their sessions go to `found`. Throws what the client
 * throws.
 */
export async function eraseRows(
  client: ClickHouseClient,
  wish: ErasedRows,
  { table = events, found }: Readonly<{ table?: string; found?: string[] }> = {},
): Promise<number> {
  let [count, bytes] = [0, 0];
  let page: Row[] = [];
  const flush = async (): Promise<void> => {
    if (page.length === 0) return;
    const clickhouse_settings = { max_query_size: String(queryBytesMax) };
    await client.command({ query: erasureStatement(page, table), clickhouse_settings });
    count += page.length;
    [page, bytes] = [[], 0];
  };
  for (const row of await rowsWithContents(client, wish, table)) {
    page.push(row);
    found?.push(row.session);
    bytes += row.content.length + row.record.length;
    if (bytes > pageBytesMax) await flush();
  }
  await flush();
  return count;
}

function whereRows({ sessions, places }: ErasedRows): string {
  const others = places.map(placeOf).join(',');
  const elsewhere = others === '' ? '' : ` OR (k_topic, k_partition, k_offset) IN (${others})`;
  return `session_id IN (${sessions.map(literal).join(',')})${elsewhere}`;
}

/** Rows as they are to be, those that are not so yet. */
async function rowsWithContents(
  client: ClickHouseClient,
  wish: ErasedRows,
  table: string,
): Promise<readonly Row[]> {
  const query = `SELECT ${columns} FROM ${table} WHERE ${whereRows(wish)}`;
  const clickhouse_settings = { max_query_size: String(queryBytesMax) };
  const answer = await client.query({ query, clickhouse_settings, format: 'JSONEachRow' });
  const found: Row[] = [];
  for await (const part of answer.stream<Row>()) {
    for (const one of part) {
      const row = one.json() as Row;
      const bared = { content: bareContentText(row.content), record: bareRecordText(row.record) };
      const isBare = bared.content === row.content && bared.record === row.record;
      if (!isBare) found.push({ ...row, ...bared });
    }
  }
  return found;
}

const pollMs = 200;

/** Waits until the rows of these records are there: what comes later would bring its contents with it. */
export async function rowsOfRecordsThere(
  client: ClickHouseClient,
  newest: readonly RowPlace[],
  { withinMs, pause }: { withinMs: number; pause(ms: number): Promise<void> },
): Promise<void> {
  for (let waitedMs = 0; ; waitedMs += pollMs) {
    const behind = await firstBehind(client, newest);
    if (behind === undefined) return;
    if (waitedMs >= withinMs) {
      const { topic, partition, offset } = behind;
      const message = `the event store has not stored ${topic}/${partition} up to ${offset} yet`;
      throw new LongreinError('EVENT_STORE_BEHIND', message, {
        fix: 'let the event store run (longrein status), then erase again: it goes on where it was',
        retryable: true,
      });
    }
    await pause(pollMs);
  }
}

async function firstBehind(
  client: ClickHouseClient,
  newest: readonly RowPlace[],
): Promise<RowPlace | undefined> {
  for (const place of newest) {
    const query = `SELECT count() AS there FROM longrein.events
      WHERE k_topic = {topic:String} AND k_partition = {partition:UInt16} AND k_offset >= {offset:UInt64}`;
    const answer = await client.query({ query, query_params: place, format: 'JSONEachRow' });
    const [row] = await answer.json<{ there: string }>();
    if (Number(row?.there ?? 0) === 0) return place;
  }
  return undefined;
}
