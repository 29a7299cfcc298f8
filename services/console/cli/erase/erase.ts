/** Erasing sessions: the key first, then every copy that is under our control, and last the record of it. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClickHouseClient } from '@clickhouse/client';
import { resultsTopic } from '../../../../schemas/topics.ts';
import type { removableBlobs } from '../../../chassis/content/blobs.ts';
import type { ContentKeys } from '../../../chassis/content/content-keys.ts';
import { boundsIfThere } from '../../../chassis/host/read-lane-table.ts';
import type { Deed } from '../../../chassis/host/watermark-records.ts';
import { partitionOf } from '../../../chassis/log/partition.ts';
import type { LogPort } from '../../../chassis/log/port.ts';
import { goalLogId } from '../../../chassis/protocol/ids.ts';
import { eraseRows, type RowPlace, rowsOfRecordsThere } from '../../../event-store/erasure.ts';
import type { ExportPlace } from '../../../event-store/parquet/place.ts';
import { removeFiles } from './files.ts';
import { type RecordWritten, writeErasure } from './record.ts';
import type { FoundSession } from './survey.ts';
import { eraseExports } from './warehouse.ts';

export type ErasureParts = Readonly<{
  log: LogPort;
  keys: ContentKeys;
  blobs: ReturnType<typeof removableBlobs>;
  /** Undefined where this installation has no ClickHouse. */
  clickhouse: ClickHouseClient | undefined;
  copies: ReadonlyMap<string, readonly string[]>;
  /** Directories and buckets with Parquet files that we wrote. */
  exports: readonly ExportPlace[];
  /** Contexts that were kept of a session. */
  keptOf(session: string): Promise<readonly string[]>;
  deed: Deed;
}>;

export type ErasedSession = Readonly<{
  session: string;
  tenant: string;
  /** Of the first erasure, which stands. */
  by: string;
  reason: string;
  atMs: number;
  /** Everything that it wrote was sealed: with the key it is gone from the log too. */
  sealed: boolean;
  blobs: number;
  rows: number;
  files: number;
  record: RecordWritten;
}>;

const storeWithinMs = 30_000;

/** Whether a host may still have something to do there. */
export const isRunning = ({ logs }: FoundSession): boolean => logs.some(({ closed }) => !closed);

/**
 * Erases sessions that have ended; once more is harmless, and goes on where an earlier one broke off. Throws
 * EVENT_STORE_BEHIND (retryable), and what keys, blobs, ClickHouse and the log throw.
 */
export async function eraseSessions(
  parts: ErasureParts,
  sessions: readonly FoundSession[],
  report: (done: ErasedSession) => void,
): Promise<readonly ErasedSession[]> {
  const marks = sessions.map(({ session, tenant }) =>
    parts.keys.erase({ session, tenant, ...parts.deed }),
  );
  const rows = await rowsBySession(parts, sessions);
  const rewritten = await filesBySession(parts, sessions);
  const done: ErasedSession[] = [];
  for (const [index, found] of sessions.entries()) {
    const { session, tenant, logs } = found;
    const { by, reason, atMs } = marks[index] ?? parts.deed;
    let blobs = 0;
    for (const one of logs.flatMap((log) => [...log.blobs]))
      if (await parts.blobs.remove(one)) blobs += 1;
    const kept = await parts.keptOf(session);
    const removed = await removeFiles([...(parts.copies.get(session) ?? []), ...kept]);
    const files = removed + (rewritten.get(session) ?? 0);
    const sealed = logs.some((log) => log.sealed) && !logs.some((log) => log.open);
    const counts = { sealed, blobs, rows: rows.get(session) ?? 0, files };
    const said = { by, reason: reason.slice(0, reasonMax), atMs, ...counts };
    const record = await writeErasure(parts.log, found, said);
    const one = { session, tenant, by, reason, atMs, ...counts, record };
    report(one);
    done.push(one);
  }
  return done;
}

const reasonMax = 512;

async function filesBySession(
  { clickhouse, exports }: ErasureParts,
  sessions: readonly FoundSession[],
): Promise<ReadonlyMap<string, number>> {
  if (clickhouse === undefined || exports.length === 0) return new Map();
  return await eraseExports(clickhouse, exports, sessions);
}

/** One session after the other, so that the record of each says what it had. */
async function rowsBySession(
  { clickhouse, log }: ErasureParts,
  sessions: readonly FoundSession[],
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  if (clickhouse === undefined) return counts;
  const newest = await newestRecords(log, sessions);
  const pause = (ms: number): Promise<void> => sleep(ms);
  await rowsOfRecordsThere(clickhouse, newest, { withinMs: storeWithinMs, pause });
  for (const { session, logs: own } of sessions) {
    const places = own.flatMap(({ origins }) => origins);
    const wish = { sessions: [session, goalLogId(session)], places };
    counts.set(session, await eraseRows(clickhouse, wish));
  }
  return counts;
}

/** Of each partition that holds something of these sessions: a result may have come last. */
async function newestRecords(
  log: LogPort,
  sessions: readonly FoundSession[],
): Promise<readonly RowPlace[]> {
  const newest = new Map<string, RowPlace>();
  const take = (place: RowPlace): void => {
    const name = `${place.topic}/${place.partition}`;
    if (place.offset > (newest.get(name)?.offset ?? -1)) newest.set(name, place);
  };
  const results = await boundsIfThere(log, resultsTopic);
  for (const { session, logs } of sessions) {
    for (const { at, last } of logs) take({ ...at, offset: last });
    const partition = partitionOf(session, Math.max(1, results.size));
    const { low, high } = results.get(partition) ?? { low: 0, high: 0 };
    if (high > low) take({ topic: resultsTopic, partition, offset: high - 1 });
  }
  return [...newest.values()];
}
