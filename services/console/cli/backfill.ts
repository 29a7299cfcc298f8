/** `longrein events backfill`: what it needs of a host, and nothing more. */

import type { ClickHouseClient } from '@clickhouse/client';
import {
  boundsIfThere,
  everyLaneTopic,
  readLaneTable,
} from '../../chassis/host/read-lane-table.ts';
import { Watermarks } from '../../chassis/host/watermarks.ts';
import { createFixedCodec } from '../../chassis/log/codec.ts';
import type { LogPort } from '../../chassis/log/port.ts';
import { quietLogger } from '../../chassis/telemetry/quiet-logger.ts';
import { backfill, type PartitionBackfill } from '../../event-store/backfill/backfill.ts';
import { migrate } from '../../event-store/migrations.ts';
import { storedTopics } from '../../event-store/stored-topics.ts';
import { contentKeysOf } from './config.ts';
import { withLog } from './log-client.ts';
import type { Environment } from './terminal.ts';

/** Throws what the log and ClickHouse say. */
export function runBackfill(
  environment: Environment,
  client: ClickHouseClient,
  report: (done: PartitionBackfill) => void,
): Promise<readonly PartitionBackfill[]> {
  return withLog(environment, async (log) => {
    await migrate(client, { info: () => undefined });
    const ports = { log, codec: createFixedCodec(), logger: quietLogger };
    const watermarks = new Watermarks(ports);
    await watermarks.start();
    try {
      await watermarks.current();
      const keys = contentKeysOf(environment);
      const bare = keys.enabled;
      const isErased = (of: string): boolean => keys.erasureOf(of) !== undefined;
      const topics = await topicsOf(log);
      return await backfill({ log, client, watermarks, topics, bare, isErased, report });
    } finally {
      await watermarks.stop();
    }
  });
}

async function topicsOf(log: LogPort): Promise<readonly string[]> {
  const lanes = everyLaneTopic(await readLaneTable(log));
  const names = new Set([...lanes, ...storedTopics.map(({ name }) => name)]);
  const there: string[] = [];
  for (const name of names) if ((await boundsIfThere(log, name)).size > 0) there.push(name);
  return there;
}
