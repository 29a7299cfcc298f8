import { createClient } from '@clickhouse/client';
import { Kafka, logLevel } from 'kafkajs';
import { goalsTopic } from '../../schemas/topics.ts';
import type { RuntimeConfig } from '../../services/chassis/config/runtime-config.ts';
import { createEventTable } from '../../services/event-store/clickhouse.ts';
import { eventRow } from '../support/event-rows.ts';
import { percentile, print } from './figures.ts';
import { startHostProcess } from './host-process.ts';

const batchRows = 10_000;

/** Rows of about a kilobyte into the embedded engine, through the client, in batches as the sink makes them. */
async function insertRate(url: string): Promise<void> {
  const client = createClient({ url });
  const table = createEventTable(client);
  const text = 'x'.repeat(600);
  const batch = (from: number) =>
    Array.from({ length: batchRows }, (_none, index) =>
      eventRow({
        tenantId: 'bench',
        sessionId: `ses_bench_${Math.floor((from + index) / 500)}`,
        topic: 'longrein.bench',
        offset: from + index,
        recordId: `trn_${from + index}`,
        data: JSON.stringify({ number: from + index, text }),
      }),
    );
  await table.insertBatch(batch(0), 'bench/warm');
  const tookMs: number[] = [];
  for (let round = 1; round <= 6; round++) {
    const rows = batch(round * batchRows);
    const started = performance.now();
    await table.insertBatch(rows, `bench/${round}`);
    tookMs.push(performance.now() - started);
  }
  const p50Ms = percentile(tookMs, 0.5);
  print({ bench: 'store-insert', batchRows, p50Ms, rowsPerSecond: (batchRows / p50Ms) * 1_000 });
  await client.close();
}

/** From the last event of a goal in the log until its row can be asked for. */
async function lag(config: RuntimeConfig, url: string): Promise<void> {
  const catalog = new URL('../../../test/fixtures/catalog', import.meta.url).pathname;
  const host = await startHostProcess(['all'], { LONGREIN_CATALOG: catalog });
  const client = createClient({ url });
  const producer = new Kafka({
    brokers: [...config.brokers],
    logLevel: logLevel.NOTHING,
  }).producer();
  await producer.connect();
  const lags: number[] = [];
  // The first one waits until the store has opened its partitions; what counts is the steady state.
  for (let round = -1; round < 8; round++) {
    const id = `lag-${Date.now()}`;
    const value = JSON.stringify({ id, goal: 'bench', plan: 'echo', tenant: 'lag' });
    await producer.send({ topic: goalsTopic, messages: [{ key: id, value }] });
    const ageMs = await rowAge(client, id);
    if (round >= 0) lags.push(ageMs);
  }
  print({
    bench: 'store-lag',
    n: lags.length,
    p50Ms: percentile(lags, 0.5),
    worstMs: Math.max(...lags),
  });
  await client.close();
  await producer.disconnect();
  await host.stop();
}

async function rowAge(client: ReturnType<typeof createClient>, goalId: string): Promise<number> {
  const query = `SELECT toUnixTimestamp64Milli(closed.at) AS atMs FROM longrein.events AS closed
    WHERE closed.tenant_id = 'lag' AND closed.type = 'session.closed' AND closed.session_id IN (
      SELECT session_id FROM longrein.events WHERE tenant_id = 'lag' AND type = 'result.published'
      AND JSONExtractString(data, 'goalId') = {goalId:String})`;
  const untilMs = Date.now() + 30_000;
  while (Date.now() < untilMs) {
    const answer = await client.query({ query, query_params: { goalId }, format: 'JSONEachRow' });
    const [row] = await answer.json<{ atMs: string }>();
    if (row !== undefined) return Date.now() - Number(row.atMs);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`the rows of goal ${goalId} did not come within 30 s`);
}

/** Rows per second into the embedded engine, and how far it lags behind. */
export async function storeRows(config: RuntimeConfig): Promise<void> {
  const url = config.clickhouseUrl;
  if (url === undefined) throw new Error('no ClickHouse is known: run `longrein up`');
  await lag(config, url);
  await insertRate(url);
}
