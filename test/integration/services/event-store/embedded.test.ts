import type { ClickHouseClient } from '@clickhouse/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { event, text } from '../../../../schemas/event.ts';
import { partitionsOf, sessionTopic, topicConfig, topics } from '../../../../schemas/topics.ts';
import { Host } from '../../../../services/chassis/host/host.ts';
import type { Clock } from '../../../../services/chassis/host/ports.ts';
import { createFixedCodec } from '../../../../services/chassis/log/codec.ts';
import { MemoryCluster } from '../../../../services/chassis/log/memory/memory-cluster.ts';
import type { LogPort, OutgoingRecord } from '../../../../services/chassis/log/port.ts';
import { backfill } from '../../../../services/event-store/backfill/backfill.ts';
import type { EventTable } from '../../../../services/event-store/clickhouse.ts';
import { openDatabase } from '../../../../services/event-store/database.ts';
import { createEventStore } from '../../../../services/event-store/event-store.ts';
import { migrate } from '../../../../services/event-store/migrations.ts';
import { storedTopics } from '../../../../services/event-store/stored-topics.ts';
import {
  type EmbeddedClickHouse,
  quietClient,
  startEmbeddedClickHouse,
} from '../../../support/embedded-clickhouse.ts';
import { keepingLogger, quietPorts } from '../../../support/quiet-ports.ts';
import { epochBody, openingBody, recordOf, turnBody } from '../../../support/written-session.ts';

/**
 * The event store against the real engine: what is in the log is in the table, and how fast it gets
 * there.
 */

const topic = sessionTopic('normal');
const partitions = 4;
const sessions = 40;
const turnsPerSession = 125;
const eventsPerTurn = 4;
const codec = createFixedCodec();

const realClock: Clock = {
  nowMs: Date.now,
  after(delayMs, run) {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
};

let engine: EmbeddedClickHouse;
let client: ClickHouseClient;

beforeAll(async () => {
  engine = await startEmbeddedClickHouse();
  client = quietClient(engine.url);
}, 60_000);

afterAll(async () => {
  await client.close();
  await engine.stop();
}, 60_000);

async function countRecords(): Promise<number> {
  const query = 'SELECT uniqExact(k_topic, k_partition, k_offset) AS n FROM longrein.events';
  const result = await client.query({ query, format: 'JSONEachRow' });
  return Number((await result.json<{ n: string }>())[0]?.n);
}

async function waitFor(holds: () => Promise<boolean> | boolean, forMs: number): Promise<boolean> {
  const endMs = Date.now() + forMs;
  while (Date.now() < endMs) {
    if (await holds()) return true;
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
  }
  return false;
}

/** One partition's log: an epoch, openings, and turns of four events of a kilobyte. */
function recordsOf(partition: number): readonly OutgoingRecord[] {
  const records = [recordOf(`epoch-${partition}`, epochBody(), codec)];
  let sequence = 0;
  for (let number = partition; number < sessions; number += partitions) {
    const session = `ses_${number}`;
    records.push(recordOf(`open-${session}`, openingBody(session), codec));
    for (let count = 0; count < turnsPerSession; count += 1) {
      sequence += 1;
      const data = {
        task: `task-${count}`,
        attempt: 1,
        agent: 'agent',
        code: 'X',
        retryable: false,
      };
      const message = text('m'.repeat(850));
      const draft = event('task.failed', { ...data, class: 'crashed' }, { message });
      const body = turnBody(session, new Array(eventsPerTurn).fill(draft));
      records.push(recordOf(`turn-${session}-${count}`, body, codec, { sequence }));
    }
  }
  return records;
}

test('20,000 events of a kilobyte are stored exactly, and the next one is there within a second', async () => {
  const cluster = new MemoryCluster();
  const log = cluster.connect('one');
  await log.ensureTopics(
    topics.map((one) => ({
      name: one.name,
      partitions: partitionsOf(one, partitions),
      config: topicConfig(one, 1_048_576),
    })),
  );
  for (let partition = 0; partition < partitions; partition += 1) {
    const records = recordsOf(partition);
    for (let from = 0; from < records.length; from += 100)
      await log.append({ topic, partition }, records.slice(from, from + 100));
  }
  const logger = keepingLogger();
  const ports = quietPorts(log, realClock, { logger });
  const known = { url: engine.url, user: 'default', password: '', requestTimeoutMs: 30_000 };
  const config = { ...known, replicated: false };
  const database = openDatabase(config, logger);
  const onFatal = (error: Error): never => {
    throw error;
  };
  let inserted = 0;
  const insertBatch: EventTable['insertBatch'] = async (rows, token) => {
    await database.table.insertBatch(rows, token);
    inserted += rows.length;
  };
  const table = { ...database.table, insertBatch };
  const store = createEventStore({ ports, ...database, table, onFatal });
  const options = { name: 'one', release: '0.0.0-test', services: [store], ports };
  const host = new Host({ ...options, housekeepingMs: 1_000, onFatal });
  store.attach(host);
  await database.prepare();
  const startedMs = Date.now();
  const cpuBefore = process.cpuUsage();
  await host.start([]);
  await store.start();
  const records = partitions + sessions * (turnsPerSession + 1);
  const all = records + sessions * turnsPerSession * (eventsPerTurn - 1);
  expect(await waitFor(() => inserted === all, 60_000)).toBe(true);
  const tookMs = Date.now() - startedMs;
  const { user, system } = process.cpuUsage(cpuBefore);
  const cpuMs = Math.round((user + system) / 1_000);
  expect(await countRecords()).toBe(records);

  const lastMs = Date.now();
  const opening = openingBody('ses_late');
  await log.append({ topic, partition: 0 }, [recordOf('open-late', opening, codec)]);
  expect(await waitFor(async () => (await countRecords()) === records + 1, 10_000)).toBe(true);
  const lagMs = Date.now() - lastMs;
  process.stdout.write(
    `${JSON.stringify({ measured: 'event-store', rows: all, rowsPerSecond: Math.round((all / tookMs) * 1_000), cpuMs, lagMs })}\n`,
  );

  await expectRowsEqualRecords(cluster);
  expect(logger.lines.filter(({ level }) => level === 'error')).toEqual([]);
  await host.stop(2_000);
  await expectRebuilt(log);
}, 180_000);

/** All rows as one number, but for when they were written, and the money in the rollup. */
async function prints(): Promise<unknown> {
  const query = `SELECT toString(groupBitXor(cityHash64(* EXCEPT ingested_at))) AS hash, count() AS rows,
    (SELECT count() FROM longrein.sessions) AS sessions, (SELECT sum(records) FROM longrein.sink_progress) AS records
    FROM longrein.events`;
  const result = await client.query({ query, format: 'JSONEachRow' });
  return (await result.json())[0];
}

/** Rows that were lost come back from the log, the same; what is there is not written twice. */
async function expectRebuilt(log: LogPort): Promise<void> {
  const before = await prints();
  await client.command({ query: 'DROP DATABASE longrein SYNC' });
  await migrate(client, { info: () => undefined });
  const watermarks = { trimAt: () => undefined, closedAt: () => [], topic: () => undefined };
  const names = storedTopics.map(({ name }) => name);
  const parts = { log, client, watermarks, topics: names, report: () => undefined };
  const first = await backfill(parts);
  expect(await prints()).toEqual(before);
  expect(first.every(({ cut }) => cut === 0)).toBe(true);
  const hole = `ALTER TABLE longrein.events DELETE WHERE k_partition = 1 AND k_offset BETWEEN 70 AND 900`;
  await client.command({ query: hole, clickhouse_settings: { mutations_sync: '1' } });
  const again = await backfill(parts);
  expect(again.reduce((sum, { records }) => sum + records, 0)).toBe(831);
  const count =
    'SELECT count() AS n, uniqExact(k_topic, k_partition, k_offset, event_index) AS u FROM longrein.events';
  const [found] = await (await client.query({ query: count, format: 'JSONEachRow' })).json<{
    n: string;
    u: string;
  }>();
  expect(found?.n).toBe(found?.u);
  expect(Number(found?.n)).toBe(Number((before as { rows: string }).rows));
}

async function expectRowsEqualRecords(cluster: MemoryCluster): Promise<void> {
  const query = `SELECT k_topic AS topic, k_partition AS partition, uniqExact(k_offset) AS records,
    count() AS rows, uniqExact(k_offset, event_index) AS events, countIf(effective = 1) AS effective
    FROM longrein.events GROUP BY topic, partition ORDER BY topic, partition`;
  const result = await client.query({ query, format: 'JSONEachRow' });
  type Counts = { records: string; rows: string; events: string; effective: string };
  const stored = await result.json<Counts & { topic: string; partition: number }>();
  const counts = new Map(
    stored.map((one) => [`${one.topic}/${one.partition}`, Number(one.records)]),
  );
  for (const { name } of storedTopics) {
    for (let partition = 0; partition < partitions; partition += 1) {
      const records = cluster.records({ topic: name, partition });
      expect(counts.get(`${name}/${partition}`) ?? 0).toBe(records.length);
    }
  }
  // No event twice, and here each of them counts.
  for (const { rows, events, effective } of stored) {
    expect(events).toBe(rows);
    expect(effective).toBe(rows);
  }
}
