/**
 * What pools have to do at this moment, as metrics. It is read from the rows of sessions that have not ended: a host that
 * was killed leaves nothing behind in it, and one that has just started need not have seen the beginning of anything.
 */

import type { ClickHouseClient } from '@clickhouse/client';
import { toError } from '../chassis/errors.ts';
import type { HostPorts } from '../chassis/host/ports.ts';
import type { Sample } from '../chassis/telemetry/meter.ts';
import { metrics } from '../chassis/telemetry/metrics.ts';

export type PoolNow = Readonly<{
  pool: string;
  pending: number;
  waiting: number;
  running: number;
  oldestMs: number;
}>;

const query = `SELECT pool, toUInt32(sum(pending)) AS pending, toUInt32(sum(waiting_place)) AS waiting,
  toUInt32(sum(running)) AS running, toFloat64(max(oldest_pending_ms)) AS oldestMs
  FROM longrein.pools_now GROUP BY pool ORDER BY pool`;

/** What every pool has to do. Throws what the client throws. */
export async function readPoolsNow(client: ClickHouseClient): Promise<readonly PoolNow[]> {
  const answer = await client.query({ query, format: 'JSONEachRow' });
  return answer.json<PoolNow>();
}

/** Who asks for the metrics more often than that gets the answer of before. */
const freshMs = 10_000;

/** The gauges of pools. The database is asked when somebody reads them, so the first reading has none. */
export function measurePools(
  { figures, logger }: Pick<HostPorts, 'figures' | 'logger'>,
  read: () => Promise<readonly PoolNow[]>,
): void {
  if (figures === undefined) return;
  let known: readonly PoolNow[] = [];
  let askedAtMs = Number.NEGATIVE_INFINITY;
  const refresh = (): void => {
    if (performance.now() - askedAtMs < freshMs) return;
    askedAtMs = performance.now();
    read().then(
      (pools) => {
        known = withEmptied(known, pools);
      },
      (thrown: unknown) => {
        // An old figure would start workers for nothing; none says that nobody knows.
        known = [];
        logger.warn({ error: toError(thrown).message }, 'what pools have to do is not known');
      },
    );
  };
  const samples = (of: (pool: PoolNow) => number) => (): readonly Sample[] => {
    refresh();
    return known.map((pool) => ({ labels: [pool.pool], value: of(pool) }));
  };
  const { meter } = figures;
  meter.gauge(
    metrics.poolPending,
    samples(({ pending }) => pending),
  );
  meter.gauge(
    metrics.poolWaiting,
    samples(({ waiting }) => waiting),
  );
  meter.gauge(
    metrics.poolRunning,
    samples(({ running }) => running),
  );
  meter.gauge(
    metrics.poolOldest,
    samples(({ oldestMs }) => oldestMs / 1_000),
  );
}

/** A pool that has nothing to do any more says 0: a series that ends says nothing to who scales by it. */
function withEmptied(before: readonly PoolNow[], now: readonly PoolNow[]): readonly PoolNow[] {
  const busy = new Set(now.map(({ pool }) => pool));
  const none = { pending: 0, waiting: 0, running: 0, oldestMs: 0 };
  const idle = before.filter(({ pool }) => !busy.has(pool)).map(({ pool }) => ({ pool, ...none }));
  return [...now, ...idle];
}
