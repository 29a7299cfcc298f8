import type { ClickHouseClient } from '@clickhouse/client';
import { createEventTable } from '../clickhouse.ts';
import { migrate } from '../migrations.ts';
import { sampleRows } from './sample.ts';
import { sampleTopic } from './script.ts';

const batchRows = 5_000;
const quiet = { info: () => undefined };

/**
 * Writes the sample that ends at this midnight; the same one twice is there once. Brings the schema
 * up to date first.
 */
export async function loadSample(
  client: ClickHouseClient,
  untilMs: number,
): Promise<{ rows: number; sessions: number; untilMs: number }> {
  await migrate(client, quiet);
  await removeSample(client);
  const rows = sampleRows({ untilMs });
  const table = createEventTable(client);
  // After a removal the same names would be taken for a repetition.
  const run = `${sampleTopic}/${untilMs}/${Date.now()}`;
  for (let from = 0; from < rows.length; from += batchRows) {
    await table.insertBatch(rows.slice(from, from + batchRows), `${run}/${from}`);
  }
  const sessions = new Set(rows.map(({ sessionId }) => sessionId)).size - 1;
  return { rows: rows.length, sessions, untilMs };
}

const tables = ['events', 'costs_hourly', 'sessions_thin', 'calls_thin', 'tasks_thin'] as const;

/** Takes out every row of the sample's tenants and topic. Returns how many events that were. */
export async function removeSample(client: ClickHouseClient): Promise<number> {
  await migrate(client, quiet);
  const where = `startsWith(tenant_id, 'sample-')`;
  const query = `SELECT count() AS n FROM longrein.events WHERE ${where} OR k_topic = '${sampleTopic}'`;
  const answer = await client.query({ query, format: 'JSONEachRow' });
  const [found] = await answer.json<{ n: string }>();
  const rows = Number(found?.n ?? 0);
  if (rows === 0) return 0;
  const settings = { clickhouse_settings: { mutations_sync: '1' } } as const;
  for (const table of tables) {
    await client.command({
      query: `ALTER TABLE longrein.${table} DELETE WHERE ${where}`,
      ...settings,
    });
  }
  for (const table of ['events', 'sink_progress']) {
    const own = `ALTER TABLE longrein.${table} DELETE WHERE k_topic = '${sampleTopic}'`;
    await client.command({ query: own, ...settings });
  }
  return rows;
}
