import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClickHouseClient } from '@clickhouse/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePorts } from '../../../../deploy/local/ports.ts';
import { event, text } from '../../../../schemas/event.ts';
import {
  goalsTopic,
  partitionsOf,
  sessionTopic,
  sinksTopic,
  topicConfig,
  topics,
} from '../../../../schemas/topics.ts';
import { Host } from '../../../../services/chassis/host/host.ts';
import type { Clock } from '../../../../services/chassis/host/ports.ts';
import { createFixedCodec } from '../../../../services/chassis/log/codec.ts';
import { MemoryCluster } from '../../../../services/chassis/log/memory/memory-cluster.ts';
import type { MemoryLog } from '../../../../services/chassis/log/memory/memory-log.ts';
import type { OutgoingRecord } from '../../../../services/chassis/log/port.ts';
import type { RecordBody } from '../../../../services/chassis/protocol/record.ts';
import { openDatabase } from '../../../../services/event-store/database.ts';
import { createEventStore } from '../../../../services/event-store/event-store.ts';
import { migrate, readMigrations } from '../../../../services/event-store/migrations.ts';
import { storedTopics } from '../../../../services/event-store/stored-topics.ts';
import { ClickHouseProxy } from '../../../support/clickhouse-proxy.ts';
import {
  type EmbeddedClickHouse,
  quietClient,
  startEmbeddedClickHouse,
  temporaryDirectory,
} from '../../../support/embedded-clickhouse.ts';
import { createLateView } from '../../../support/late-view.ts';
import { keepingLogger, quietPorts } from '../../../support/quiet-ports.ts';
import { storedRanges } from '../../../support/stored-ranges.ts';
import { epochBody, openingBody, recordOf, turnBody } from '../../../support/written-session.ts';

/**
 * Event stores are killed, engines are killed, both come back, the disk is full, the schema changes, records are
 * nonsense: the rows of each partition are its offsets, none twice, and the sums agree.
 */

const topic = sessionTopic('normal');
const partitions = 4;
const codec = createFixedCodec();
const directory = temporaryDirectory();
const realClock: Clock = {
  nowMs: Date.now,
  after(delayMs, run) {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
};

const cluster = new MemoryCluster();
const outside = cluster.connect('outside');
let port = 0;
let engine: EmbeddedClickHouse;
let client: ClickHouseClient;
let proxy: ClickHouseProxy;
const living = new Set<{ host: Host; log: MemoryLog }>();

const startEngine = (): Promise<EmbeddedClickHouse> =>
  startEmbeddedClickHouse({ directory, environment: { LONGREIN_CLICKHOUSE_PORT: String(port) } });

beforeAll(async () => {
  [port = 0] = await freePorts([undefined]);
  engine = await startEngine();
  proxy = await ClickHouseProxy.start(engine.url);
  client = quietClient(engine.url);
  // As a release before left it: the stores change it while rows are on their way.
  await migrate(client, { info: () => undefined }, readMigrations().slice(0, 6));
  // Each insert is halfway for a while: in the table, and not in all views.
  await createLateView(client, 0.0003);
  await outside.ensureTopics(
    topics.map((one) => ({
      name: one.name,
      partitions: partitionsOf(one, partitions),
      config: topicConfig(one, 1_048_576),
    })),
  );
}, 60_000);

afterAll(async () => {
  for (const { host } of living) await host.stop(1_000);
  await Promise.all([client.close(), proxy.stop()]);
  await engine.stop();
  rmSync(directory, { recursive: true });
}, 60_000);

async function startStore(name: string): Promise<{ host: Host; log: MemoryLog }> {
  const log = cluster.connect(name);
  const logger = keepingLogger();
  const ports = quietPorts(log, realClock, { logger });
  const known = { url: proxy.url, user: 'default', password: '', requestTimeoutMs: 5_000 };
  const database = openDatabase({ ...known, replicated: false }, logger);
  const onFatal = (error: Error): never => {
    throw error;
  };
  const store = createEventStore({ ports, ...database, onFatal });
  const options = { name, release: '0.0.0-test', services: [store], ports };
  const host = new Host({ ...options, housekeepingMs: 200, onFatal: () => undefined });
  store.attach(host);
  await host.start([]);
  await store.start();
  const started = { host, log };
  living.add(started);
  return started;
}

/** Its process is gone in the middle of whatever it did. */
function kill(store: { host: Host; log: MemoryLog }): void {
  living.delete(store);
  store.log.crash();
}

let written = 0;

/** Some turns for every partition, and what no program of ours would write. */
async function load(turns: number): Promise<void> {
  for (let partition = 0; partition < partitions; partition += 1) {
    const session = `ses_${partition}`;
    const records: OutgoingRecord[] = [];
    if (written === 0) {
      records.push(recordOf(`epoch-${partition}`, epochBody(), codec));
      records.push(recordOf(`open-${partition}`, openingBody(session), codec));
    }
    for (let count = 0; count < turns; count += 1) {
      const data = { task: `t${count}`, attempt: 1, agent: 'a', code: 'X', retryable: false };
      const draft = event(
        'task.failed',
        { ...data, class: 'crashed' },
        { message: text('m'.repeat(300)) },
      );
      const sequence = written + count + 1;
      const body = turnBody(session, [draft, draft]);
      records.push(recordOf(`turn-${partition}-${sequence}`, body, codec, { sequence }));
    }
    const [turn] = records.slice(-1);
    if (turn !== undefined) {
      records.push({ ...turn, value: Buffer.from([0, 255, 1]) }, { ...turn, value: null });
      records.push({
        key: 'k',
        headers: { lr_kind: 'turn', lr_epoch: 'x' },
        value: Buffer.from('{"a":1e999}'),
      });
    }
    await outside.append({ topic, partition }, records);
  }
  await outside.append({ topic: goalsTopic, partition: written % partitions }, [
    { key: 'g', headers: {}, value: Buffer.from('not json \ud800') },
  ]);
  written += turns;
}

type SourceEnd = Readonly<{ topic: string; partition: number; next: number }>;

/** Where each source partition ends in the log. */
const sourceEnds = (): readonly SourceEnd[] =>
  storedTopics.flatMap((source) =>
    Array.from({ length: partitions }, (_, partition) => {
      const topic = source.name;
      return { topic, partition, next: cluster.records({ topic, partition }).length };
    }),
  );

/**
 * Sources that the stores do not say they have stored to their ends. Rows can be seen in the table a
 * little before their insert has ended, and before what reads over them is kept up: only the answer
 * says that both are.
 */
function notStored(): readonly SourceEnd[] {
  const definition = topics.find(({ name }) => name === sinksTopic);
  const count = definition === undefined ? 0 : partitionsOf(definition, partitions);
  const decode = (value: Uint8Array): RecordBody => codec.decode(value).body as RecordBody;
  const states = Array.from({ length: count }, (_, partition) =>
    storedRanges(cluster.records({ topic: sinksTopic, partition }), decode),
  ).flat();
  return sourceEnds().filter(({ topic, partition, next }) => {
    const found = states.find((one) => one.topic === topic && one.partition === partition);
    return found?.next !== next;
  });
}

const inLog = (): number => sourceEnds().reduce((sum, { next }) => sum + next, 0);

async function all(query: string): Promise<readonly Record<string, unknown>[]> {
  const answer = await client.query({ query, format: 'JSONEachRow' });
  return answer.json<Record<string, unknown>>();
}

test('kill -9 of stores and engine at any step, outages, a full disk, nonsense, a schema that changes: rows are offsets', async () => {
  const first = await startStore('one');
  let second = await startStore('two');
  await load(40);
  for (const [round, pauseMs] of [15, 90, 240].entries()) {
    await load(60);
    // There is no space for rows; then there was none, says an answer, though they were written.
    for (const weather of ['full', 'full-after'] as const) {
      proxy.weather = weather;
      await expect.poll(() => proxy.met[weather], { timeout: 30_000 }).toBeGreaterThan(round);
    }
    proxy.weather = 'fair';
    await sleep(pauseMs);
    // In the middle of an insert, before its outcome, or after it: as it comes.
    await engine.kill();
    await load(30);
    kill(second);
    engine = await startEngine();
    second = await startStore(`two-${round}`);
  }
  kill(first);
  await load(50);
  await startStore('three');
  await expect.poll(notStored, { timeout: 90_000, interval: 100 }).toEqual([]);

  const rows =
    await all(`SELECT count() AS n, uniqExact(k_topic, k_partition, k_offset, event_index) AS u,
    uniqExact(k_topic, k_partition, k_offset) AS records,
    countIf(kind = 'foreign') AS nonsense,
    countIf(effective = 1 AND type = 'task.failed') AS effective FROM longrein.events`);
  const loads = 8;
  expect(rows[0]?.n).toBe(rows[0]?.u);
  expect(rows[0]).toMatchObject({
    records: inLog(),
    nonsense: loads * partitions * 3,
    effective: written * 2 * partitions,
  });
  const gaps = await all(`SELECT k_topic, k_partition FROM longrein.events
    GROUP BY k_topic, k_partition HAVING max(k_offset) + 1 != uniqExact(k_offset)`);
  expect(gaps).toEqual([]);
  // What reads over the rows was kept up with them, once each.
  const sums = await all(`SELECT
    (SELECT count() FROM longrein.events) - (SELECT sum(events) FROM longrein.sink_progress) AS progress,
    (SELECT count() FROM longrein.events) - (SELECT count() FROM longrein.late) AS late,
    (SELECT countIf(effective = 1 AND kind IN ('turn', 'input')) FROM longrein.events)
      - (SELECT sum(events) FROM longrein.sessions_thin) AS sessions`);
  expect(sums[0]).toEqual({ progress: 0, late: 0, sessions: 0 });
}, 180_000);
