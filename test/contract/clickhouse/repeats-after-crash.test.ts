import { rmSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { createEventTable } from '../../../services/event-store/clickhouse.ts';
import { migrate } from '../../../services/event-store/migrations.ts';
import { sampleRows } from '../../../services/event-store/sample/sample.ts';
import { quietClient, startEmbeddedClickHouse } from '../../support/embedded-clickhouse.ts';

/** A sink that does not know whether its insert was taken writes it again, also to an engine that was killed meanwhile. */
vi.setConfig({ testTimeout: 120_000 });

const counts = `SELECT count() AS rows,
  (SELECT sum(events) FROM longrein.sessions_thin) AS events,
  (SELECT sum(calls) FROM longrein.tasks_thin) AS calls_of_tasks,
  (SELECT sum(calls) FROM longrein.costs_hourly) AS calls_by_hour,
  (SELECT toString(sum(cost_nano_usd)) FROM longrein.costs_hourly) AS cost,
  (SELECT count() FROM longrein.calls_thin) AS calls,
  (SELECT sum(records) FROM longrein.sink_progress) AS records
  FROM longrein.events`;

test('what was stored before the engine was killed and is written again counts once, in rollups too', async () => {
  const rows = sampleRows({ untilMs: Date.UTC(2026, 2, 1), days: 2, sessionsPerDay: 6 });
  const first = await startEmbeddedClickHouse();
  const client = quietClient(first.url);
  const read = async (from: typeof client) =>
    (await from.query({ query: counts, format: 'JSONEachRow' })).json();
  await migrate(client, { info: () => undefined });
  await createEventTable(client).insertBatch(rows, 'range');
  const before = await read(client);
  expect(before).toMatchObject([{ cost: expect.stringMatching(/^[1-9]/) }]);
  await client.close();
  await first.kill();
  const second = await startEmbeddedClickHouse({ directory: first.directory });
  const again = quietClient(second.url);
  await createEventTable(again).insertBatch(rows, 'range');
  expect(await read(again)).toEqual(before);
  await again.close();
  await second.stop();
  rmSync(first.directory, { recursive: true });
});
