import { rmSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { createEventTable } from '../../../services/event-store/clickhouse.ts';
import { createInserter } from '../../../services/event-store/insertion.ts';
import { dropLeftovers } from '../../../services/event-store/lost-rows.ts';
import { migrate } from '../../../services/event-store/migrations.ts';
import { sampleRows } from '../../../services/event-store/sample/sample.ts';
import { quietClient, startEmbeddedClickHouse } from '../../support/embedded-clickhouse.ts';
import { keepingLogger } from '../../support/quiet-ports.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

/**
 * An engine that was killed between noting the token of an insert and putting its part in place drops every repetition of
 * it. Here the rows of such an insert are taken out, which leaves its token.
 */
vi.setConfig({ testTimeout: 120_000 });

const counts = `SELECT count() AS rows, uniqExact(k_offset, event_index) AS events,
  (SELECT sum(calls) FROM longrein.costs_hourly) AS calls_by_hour,
  (SELECT toString(sum(cost_nano_usd)) FROM longrein.costs_hourly) AS cost,
  (SELECT count() FROM longrein.calls_thin) AS calls
  FROM longrein.events`;
const leftovers = `SELECT name FROM system.tables WHERE database = 'longrein_again'`;

test('rows that the engine takes for stored and has lost are written again, past its rollups', async () => {
  const all = sampleRows({ untilMs: Date.UTC(2026, 2, 1), days: 2, sessionsPerDay: 6 });
  const first = all[0];
  const rows = all.filter((row) => row.topic === first?.topic && row.partition === first.partition);
  const engine = await startEmbeddedClickHouse();
  const client = quietClient(engine.url);
  const read = async () => (await client.query({ query: counts, format: 'JSONEachRow' })).json();
  await migrate(client, { info: () => undefined });
  const logger = keepingLogger();
  const table = createEventTable(client);
  const parts = { table, clock: new VirtualClock(), logger, prepared: Promise.resolve() };
  const { signal } = new AbortController();
  const inserter = createInserter(parts);
  const range = { token: 'range', rows: async () => rows, signal };
  await inserter.store(range);
  const before = await read();
  expect(before).toMatchObject([{ rows: rows.length, events: rows.length }]);
  const some = rows.slice(0, 5).map(({ offset, index }) => `(${offset}, ${index})`);
  await client.command({
    query: `DELETE FROM longrein.events WHERE (k_offset, event_index) IN (${some.join()})`,
  });
  await inserter.store(range);
  expect(await read()).toMatchObject([{ rows: rows.length - some.length }]);
  await inserter.store({ ...range, again: true });
  expect(await read()).toEqual(before);
  expect(logger.lines).toMatchObject([{ level: 'warn', fields: { range: 'range', rows: 5 } }]);
  await inserter.store({ ...range, again: true });
  expect(await read()).toEqual(before);
  const left = async (): Promise<unknown[]> =>
    (await client.query({ query: leftovers, format: 'JSONEachRow' })).json();
  expect(await left()).toEqual([]);
  await client.command({ query: 'CREATE TABLE longrein_again.killed AS longrein.events' });
  await dropLeftovers(client);
  expect(await left()).toEqual([{ name: 'killed' }]);
  await dropLeftovers(client, 0);
  expect(await left()).toEqual([]);
  await client.close();
  await engine.stop();
  rmSync(engine.directory, { recursive: true });
});
