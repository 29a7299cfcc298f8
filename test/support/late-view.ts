import type { ClickHouseClient } from '@clickhouse/client';

/**
 * A view over the events that takes its time, and then has a row of `longrein.late` for each: so
 * long, the rows of an insert are in the table and not yet in this view, and in some of the others.
 * `secondsPerRow` times the rows of an insert must stay below 3.
 */
export async function createLateView(
  client: ClickHouseClient,
  secondsPerRow: number,
): Promise<void> {
  await client.command({
    query: `CREATE TABLE longrein.late (slept UInt8) ENGINE = MergeTree ORDER BY ()
      SETTINGS non_replicated_deduplication_window = 10000`,
  });
  await client.command({
    query: `CREATE MATERIALIZED VIEW longrein.late_mv TO longrein.late AS
      SELECT sleepEachRow(${secondsPerRow}) AS slept FROM longrein.events`,
  });
}
