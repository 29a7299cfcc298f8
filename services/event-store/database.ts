import { type ClickHouseClient, ClickHouseLogLevel, createClient } from '@clickhouse/client';
import { LongreinError } from '../chassis/errors.ts';
import type { Logger } from '../chassis/host/ports.ts';
import { createEventTable, type EventTable } from './clickhouse.ts';
import type { EventStoreConfig } from './config.ts';
import { insertFailure } from './insert-failure.ts';
import { dropLeftovers } from './lost-rows.ts';
import { migrate } from './migrations.ts';
import { type PoolNow, readPoolsNow } from './pools-now.ts';

/** The database behind the event store. */
export type EventDatabase = Readonly<{
  table: EventTable;
  /**
   * Brings the schema to this release. Throws CLICKHOUSE_SCHEMA_NEWER,
   * CLICKHOUSE_MIGRATION_CHANGED, or what `insertFailure` says, with the address; retryable where
   * ClickHouse is away.
   */
  prepare(): Promise<void>;
  /** What pools have to do at this moment. Throws what the client throws. */
  poolsNow(): Promise<readonly PoolNow[]>;
  close(): Promise<void>;
}>;

/** Connects on first use. */
export function openDatabase(config: EventStoreConfig, logger: Logger): EventDatabase {
  const client = connect(config);
  return {
    table: createEventTable(client),
    prepare: () => prepare(client, config, logger),
    poolsNow: () => readPoolsNow(client),
    close: () => client.close(),
  };
}

function connect(config: EventStoreConfig): ClickHouseClient {
  return createClient({
    url: config.url,
    username: config.user,
    password: config.password,
    request_timeout: config.requestTimeoutMs,
    application: 'longrein-event-store',
    compression: { request: false, response: false },
    // What fails is thrown and logged once, by who can say what it means.
    log: { level: ClickHouseLogLevel.OFF },
  });
}

async function prepare(
  client: ClickHouseClient,
  config: EventStoreConfig,
  logger: Logger,
): Promise<void> {
  try {
    await migrate(client, logger, undefined, { replicated: config.replicated });
    await dropLeftovers(client);
  } catch (thrown) {
    if (thrown instanceof LongreinError) throw thrown;
    const { code, message, fix, retryable } = insertFailure(thrown, []);
    const where = new URL(config.url).host;
    throw new LongreinError(code, `ClickHouse at ${where}: ${message}`, {
      ...(fix === undefined ? {} : { fix }),
      retryable,
      cause: thrown,
    });
  }
}
