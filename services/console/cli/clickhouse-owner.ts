/** A client that may change ClickHouse: for `migrate`, `sample-data` and `events`. */

import type { ClickHouseClient } from '@clickhouse/client';
import { LongreinError } from '../../chassis/errors.ts';
import { insertFailure } from '../../event-store/insert-failure.ts';
import { readClickhouseAddress } from './config.ts';
import type { Environment } from './terminal.ts';

/** Runs the work and closes the client. Throws CLICKHOUSE_UNKNOWN and what `insertFailure` says. */
export async function withClickhouse<T>(
  environment: Environment,
  work: (client: ClickHouseClient) => Promise<T>,
): Promise<T> {
  const address = await readClickhouseAddress(environment);
  if (address === undefined) {
    throw new LongreinError('CLICKHOUSE_UNKNOWN', 'no ClickHouse is known', {
      fix: 'Run `longrein up` (without --no-clickhouse), or set LONGREIN_CLICKHOUSE_URL.',
    });
  }
  const { ClickHouseLogLevel, createClient } = await import('@clickhouse/client');
  const client = createClient({
    url: address.url,
    username: address.user,
    password: address.password,
    request_timeout: 600_000,
    application: 'longrein-cli',
    log: { level: ClickHouseLogLevel.OFF },
  });
  try {
    return await work(client);
  } catch (thrown) {
    throw insertFailure(thrown, []);
  } finally {
    await client.close();
  }
}
