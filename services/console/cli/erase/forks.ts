/** Forks that went on live: each shares the past of another session, and may hold its words in states of its own. */
import type { ClickHouseClient } from '@clickhouse/client';
import { LongreinError } from '../../../chassis/errors.ts';
import {
  boundsIfThere,
  everyLaneTopic,
  readLaneTable,
} from '../../../chassis/host/read-lane-table.ts';
import { readPartition } from '../../../chassis/log/partition-reader.ts';
import type { LogPort, LogRecord } from '../../../chassis/log/port.ts';
import { parseHeader, type RecordBody } from '../../../chassis/protocol/record.ts';
import { bodyOfRecord } from '../../../client/record-body.ts';
import type { FoundSession } from './survey.ts';

/** `fork` shares the past of `of`. */
export type Fork = Readonly<{ fork: string; of: string }>;

function forkIn(record: LogRecord): Fork | undefined {
  const header = parseHeader(record.headers);
  if (header?.kind !== 'input' || !header.types.includes('session.forked')) return undefined;
  const body = bodyOfRecord(record) as RecordBody | undefined;
  if (body?.kind !== 'input') return undefined;
  const { of } = body.event.data as { of?: unknown };
  return typeof of === 'string' ? { fork: header.session, of } : undefined;
}

/** All of which the log still holds the opening. Reads every lane; throws what the log throws. */
export async function forksInLog(log: LogPort): Promise<readonly Fork[]> {
  const found: Fork[] = [];
  for (const topic of everyLaneTopic(await readLaneTable(log)))
    for (const [partition, bounds] of await boundsIfThere(log, topic))
      for await (const record of readPartition(log, { topic, partition }, bounds)) {
        const one = forkIn(record);
        if (one !== undefined) found.push(one);
      }
  return found;
}

/** Those of which ClickHouse knows, also where the log was trimmed. Throws what the client throws. */
export async function forksInRows(client: ClickHouseClient): Promise<readonly Fork[]> {
  const query = `SELECT session_id AS fork, fork_of AS of FROM longrein.sessions WHERE fork_of != ''`;
  const answer = await client.query({ query, format: 'JSONEachRow' });
  return await answer.json<Fork>();
}

/** Those that share something of these sessions, directly or through other forks, and are none of them. */
export function forksOf(all: readonly Fork[], sessions: readonly string[]): readonly string[] {
  const reached = new Set(sessions);
  for (const one of reached) for (const { fork, of } of all) if (of === one) reached.add(fork);
  for (const one of sessions) reached.delete(one);
  return [...reached];
}

/** Of found sessions, those whose past a running fork still reads: they have to wait for it. */
export function readByRunning(
  all: readonly Fork[],
  found: readonly FoundSession[],
  isRunning: (session: FoundSession) => boolean,
): ReadonlySet<string> {
  const running = new Set(found.filter(isRunning).map(({ session }) => session));
  const read = found.filter(({ session }) =>
    forksOf(all, [session]).some((one) => running.has(one)),
  );
  return new Set(read.map(({ session }) => session));
}

export const hasForks = (session: string, forks: readonly string[]): LongreinError =>
  new LongreinError(
    'SESSION_HAS_FORKS',
    `forks share the past of ${session} and may hold its words: ${forks.join(', ')}`,
    { fix: 'Give --forks to erase them too. Nothing was erased.' },
  );
