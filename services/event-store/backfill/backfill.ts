import type { ClickHouseClient } from '@clickhouse/client';
import type { Watermarks } from '../../chassis/host/watermarks.ts';
import { readPartition } from '../../chassis/log/partition-reader.ts';
import type { Bounds, LogPort, LogRecord, PartitionName } from '../../chassis/log/port.ts';
import { bareContentText, bareRecordText } from '../bare-text.ts';
import { createEventTable, type EventTable } from '../clickhouse.ts';
import { storedName } from '../decide.ts';
import { decodeRecord } from '../decoded-record.ts';
import { rowsOf } from '../judgement.ts';
import { createPublicFold, type PartitionFold, SessionFold } from '../partition-fold.ts';
import type { EventRow } from '../row.ts';
import { kindOf } from '../sources.ts';
import { storedBounds } from './stored-bounds.ts';

export type BackfillParts = Readonly<{
  log: LogPort;
  client: ClickHouseClient;
  /** Started: what was trimmed stands there. */
  watermarks: Pick<Watermarks, 'trimAt' | 'closedAt' | 'topic'>;
  /** Topics with records to store, every generation of the lanes. */
  topics: readonly string[];
  /** Tenants have keys: rows of public topics hold their structure only. */
  bare?: boolean;
  /** Sessions that were erased come back without their contents. */
  isErased?(log: string): boolean;
  report(done: PartitionBackfill): void;
}>;

export type PartitionBackfill = PartitionName &
  Readonly<{
    records: number;
    rows: number;
    /**
     * Records of sessions that began before the log does: what counts of them cannot be told any
     * more. They are in exports.
     */
    cut: number;
  }>;

/** Offsets, both ends included. */
type Range = readonly [first: number, last: number];

/**
 * Writes the rows that ClickHouse lacks of what the event store has stored once: after a loss of
 * data, or into another database. The same rows as before, judged by the same rules. May run beside
 * the event store, and again after it was broken off.
 */
export async function backfill(parts: BackfillParts): Promise<readonly PartitionBackfill[]> {
  const stored = await storedBounds(parts.log);
  const table = createEventTable(parts.client);
  const done: PartitionBackfill[] = [];
  for (const topic of parts.topics) {
    for (const [partition, bounds] of await parts.log.bounds(topic)) {
      const name = { topic, partition };
      const high = Math.min(bounds.high, stored.get(`${nameOf(parts, topic)}/${partition}`) ?? 0);
      const one = await backfillPartition({ ...parts, table }, name, { ...bounds, high });
      parts.report(one);
      done.push(one);
    }
  }
  return done;
}

const batchRows = 4_000;
const batchBytes = 8 * 1024 * 1024;

async function backfillPartition(
  parts: BackfillParts & { table: EventTable },
  name: PartitionName,
  bounds: Bounds,
): Promise<PartitionBackfill> {
  const storedAs = nameOf(parts, name.topic);
  const there = await rangesThere(parts.client, { ...name, topic: storedAs });
  const fold = foldOf(parts, name);
  const counts = { records: 0, rows: 0, cut: 0 };
  let batch: EventRow[] = [];
  let bytes = 0;
  const flush = async (): Promise<void> => {
    const [first, last] = [batch[0], batch.at(-1)];
    if (first === undefined || last === undefined) return;
    const token = `backfill/${storedAs}/${name.partition}/${first.offset}-${last.offset}/${Date.now()}`;
    await parts.table.insertBatch(batch, token);
    counts.rows += batch.length;
    batch = [];
    bytes = 0;
  };
  for await (const record of readPartition(parts.log, name, bounds)) {
    const rows = judged(fold, record).map((row) => withoutErased(row, parts));
    if (isIn(there, record.offset)) continue;
    if (bounds.low > 0 && isOfUnknown(rows)) counts.cut += 1;
    else {
      batch.push(...rows);
      bytes += 2 * (record.value?.length ?? 0);
      counts.records += 1;
    }
    if (batch.length >= batchRows || bytes > batchBytes) await flush();
  }
  await flush();
  return { ...name, ...counts };
}

/** What rows call a topic: one that was made again by its number too. */
const nameOf = ({ watermarks }: Pick<BackfillParts, 'watermarks'>, topic: string): string =>
  storedName(topic, watermarks.topic(topic)?.made);

function foldOf({ watermarks, bare }: BackfillParts, name: PartitionName): PartitionFold {
  if (kindOf(name.topic) === 'public') return createPublicFold(bare);
  const acceptance = watermarks.trimAt(name)?.acceptance ?? {};
  return new SessionFold(name, { acceptance, closed: watermarks.closedAt(name) });
}

function judged(fold: PartitionFold, log: LogRecord): readonly EventRow[] {
  const decoded = decodeRecord(log);
  return rowsOf({ log, header: decoded.header, judgement: fold.judge(decoded) });
}

const withoutErased = (row: EventRow, { isErased }: BackfillParts): EventRow =>
  row.sessionId !== '' && isErased?.(row.sessionId) === true
    ? { ...row, content: bareContentText(row.content), record: bareRecordText(row.record) }
    : row;

/** Nothing of a record counts, and it is one that should: its session's beginning is not there. */
const isOfUnknown = (rows: readonly EventRow[]): boolean =>
  rows.every(({ effective, kind }) => !effective && kind !== 'foreign' && kind !== 'epoch');

async function rangesThere(
  client: ClickHouseClient,
  name: PartitionName,
): Promise<readonly Range[]> {
  const query = `SELECT toString(min(k_offset)) AS first, toString(max(k_offset)) AS last FROM (
      SELECT k_offset, k_offset - row_number() OVER (ORDER BY k_offset) AS island FROM (
        SELECT DISTINCT k_offset FROM longrein.events
        WHERE k_topic = {topic:String} AND k_partition = {partition:UInt16}
      )
    ) GROUP BY island ORDER BY min(k_offset)`;
  const answer = await client.query({ query, query_params: name, format: 'JSONEachRow' });
  const rows = await answer.json<{ first: string; last: string }>();
  return rows.map(({ first, last }) => [Number(first), Number(last)] as const);
}

function isIn(ranges: readonly Range[], offset: number): boolean {
  let [low, high] = [0, ranges.length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    const [first, last] = ranges[middle] as Range;
    if (offset < first) high = middle - 1;
    else if (offset > last) low = middle + 1;
    else return true;
  }
  return false;
}
