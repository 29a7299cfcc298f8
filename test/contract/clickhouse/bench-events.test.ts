import { rmSync } from 'node:fs';
import type { ClickHouseClient } from '@clickhouse/client';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createEventTable } from '../../../services/event-store/clickhouse.ts';
import { migrate } from '../../../services/event-store/migrations.ts';
import { sampleRows } from '../../../services/event-store/sample/sample.ts';
import { grow } from '../../bench/question-events.ts';
import {
  type EmbeddedClickHouse,
  quietClient,
  startEmbeddedClickHouse,
} from '../../support/embedded-clickhouse.ts';

/** What the bench of the ready questions makes of the sample is what so many sessions would have left. On an engine of its own. */
vi.setConfig({ testTimeout: 180_000 });

let embedded: EmbeddedClickHouse;
let client: ClickHouseClient;
let rows = 0;

beforeAll(async () => {
  embedded = await startEmbeddedClickHouse();
  client = quietClient(embedded.url, { request_timeout: 120_000 });
  await migrate(client, { info: () => undefined });
  const sample = sampleRows({ untilMs: Date.UTC(2026, 2, 1), days: 2, sessionsPerDay: 6 });
  await createEventTable(client).insertBatch(sample, 'sample');
  rows = sample.length;
}, 180_000);

afterAll(async () => {
  await client.close();
  await embedded.stop();
  rmSync(embedded.directory, { recursive: true });
}, 60_000);

async function figures(): Promise<Readonly<Record<string, number>>> {
  const query = `SELECT
    (SELECT count() FROM longrein.sessions) AS sessions,
    (SELECT sum(cost_nano_usd) FROM longrein.sessions) AS cost,
    (SELECT sum(cost_nano_usd) FROM longrein.costs_hourly) AS hourly,
    (SELECT sum(calls) FROM longrein.costs_hourly) AS calls,
    (SELECT count() FROM longrein.calls_thin) AS tries,
    (SELECT uniqExact(call_id) FROM longrein.calls_thin) AS named,
    (SELECT count() FROM longrein.tasks) AS tasks,
    (SELECT count() FROM longrein.late_outcomes) AS late`;
  const answer = await client.query({ query, format: 'JSONEachRow' });
  const [row = {}] = await answer.json<Record<string, string | number>>();
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, Number(value)]));
}

test('copies of whole events and copies of thin rows add the same to every view', async () => {
  const one = await figures();
  expect(one.sessions).toBe(12);
  const grown = { events: rows * 5, whole: rows * 3 };
  expect(await grow(client, rows, grown)).toEqual(grown);
  const times5 = Object.entries(one).map(([name, value]) => [name, value * 5]);
  expect(await figures()).toEqual(Object.fromEntries(times5));
  const answer = await client.query({
    query: 'SELECT count() AS n FROM longrein.events',
    format: 'JSONEachRow',
  });
  // The epoch with which the log of the sample begins is no tenant's, and there once.
  expect(await answer.json()).toEqual([{ n: rows + 2 * (rows - 1) }]);
});
