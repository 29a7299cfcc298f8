// Source: langfuse 6380, traces sent while ClickHouse was down were gone.
import { setTimeout as sleep } from 'node:timers/promises';
import { type ClickHouseClient, createClient } from '@clickhouse/client';
import { Kafka, logLevel } from 'kafkajs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { approvalsTopic, sinksTopic } from '../../schemas/topics.ts';
import { createKafkaLog } from '../../services/chassis/log/kafka/kafka-log.ts';
import type { LogPort } from '../../services/chassis/log/port.ts';
import { storedTopics } from '../../services/event-store/stored-topics.ts';
import { ClickHouseProxy, type Weather } from '../support/clickhouse-proxy.ts';
import { LiveHost } from '../support/live-hosts.ts';
import { stackUnderTest } from '../support/live-stack.ts';

/**
 * Two event stores at once on a real broker, while ClickHouse goes away, its disk is full before and after the rows were
 * written, one of the stores is killed, and the committed offsets of their group are set back.
 */

const stack = stackUnderTest();
const brokers = [...stack.brokers];
const hosts: LiveHost[] = [];
let proxy: ClickHouseProxy;
let log: LogPort;
let client: ClickHouseClient;

const newStore = (): LiveHost => {
  const env = { LONGREIN_CLICKHOUSE_URL: proxy.url };
  const host = new LiveHost({ stack, services: ['event-store'], env });
  hosts.push(host);
  return host;
};

beforeAll(async () => {
  proxy = await ClickHouseProxy.start(stack.clickhouseUrl);
  log = createKafkaLog({ brokers, clientId: 'test' });
  client = createClient({ url: stack.clickhouseUrl });
  await Promise.all([newStore().ready(), newStore().ready()]);
}, 120_000);

afterAll(async () => {
  await Promise.all(hosts.map((host) => host.remove()));
  await Promise.all([proxy?.stop(), log?.close(), client?.close()]);
});

let sent = 0;

/** Records that nobody but the stores reads. */
async function load(records: number): Promise<void> {
  const partitions = (await log.bounds(approvalsTopic)).size;
  for (let partition = 0; partition < partitions; partition += 1) {
    const batch = Array.from({ length: Math.ceil(records / partitions) }, () => {
      sent += 1;
      const value = Buffer.from(JSON.stringify({ decision: 'of a test', count: sent }));
      return { key: `s03-${sent}`, headers: {}, value };
    });
    await log.append({ topic: approvalsTopic, partition }, batch);
  }
}

/** Load while it lasts, until so many inserts have met the weather. */
async function weather(name: Weather, inserts: number): Promise<void> {
  proxy.weather = name;
  const before = proxy.met[name];
  for (let tries = 0; tries < 200 && proxy.met[name] < before + inserts; tries += 1) {
    await load(60);
    await sleep(100);
  }
  expect(proxy.met[name], name).toBeGreaterThanOrEqual(before + inserts);
  proxy.weather = 'fair';
}

type Place = Readonly<{ topic: string; partition: number }>;
type Held = Place & Readonly<{ records: string; first: string; next: string; twice: string }>;

/** Partitions whose rows are not their records, each once, up to the end of the log. */
async function wrong(): Promise<readonly unknown[]> {
  const query = `SELECT k_topic AS topic, k_partition AS partition, toString(uniqExact(k_offset)) AS records,
    toString(min(k_offset)) AS first, toString(max(k_offset) + 1) AS next,
    toString(count() - uniqExact(k_offset, event_index)) AS twice
    FROM longrein.events GROUP BY k_topic, k_partition`;
  const answer = await client.query({ query, format: 'JSONEachRow' });
  const held = new Map(
    (await answer.json<Held>()).map((one) => [`${one.topic}/${one.partition}`, one]),
  );
  const found: unknown[] = [];
  for (const { name: topic } of storedTopics) {
    for (const [partition, { high }] of await log.bounds(topic)) {
      const rows = held.get(`${topic}/${partition}`);
      if (rows === undefined && high === 0) continue;
      const { records = '0', first = '0', next = '0', twice = '0' } = rows ?? {};
      const isWhole = Number(next) === high && Number(records) === high - Number(first);
      if (!isWhole || twice !== '0') found.push({ topic, partition, high, first, next, twice });
    }
  }
  return found;
}

/** Sets what the group has committed back to the beginning, as a person might by mistake. */
async function rewind(): Promise<void> {
  const admin = new Kafka({ clientId: 'admin', brokers, logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  try {
    const groups = (await admin.listGroups()).groups.map(({ groupId }) => groupId);
    expect(groups).toContain('longrein.event-store');
    // The one that was killed is a member until its session has timed out.
    const set = async (): Promise<string> => {
      const back = { groupId: 'longrein.event-store', topic: sinksTopic, earliest: true };
      return admin.resetOffsets(back).then(() => 'set back', String);
    };
    await expect.poll(set, { timeout: 30_000, interval: 500 }).toBe('set back');
  } finally {
    await admin.disconnect();
  }
}

test('after an outage, a full disk, a kill and a rewind, rows are the records of each partition, none twice', async () => {
  await load(300);
  await weather('away', 4);
  await weather('full', 2);
  await weather('full-after', 2);
  await hosts[0]?.kill();
  await load(300);
  await hosts[1]?.stop();
  await rewind();
  await load(300);
  await newStore().ready();
  await expect.poll(wrong, { timeout: 60_000, interval: 500 }).toEqual([]);
  const mine = `SELECT count() AS n FROM longrein.events WHERE k_topic = '${approvalsTopic}'`;
  const [count] = await (await client.query({ query: mine, format: 'JSONEachRow' })).json<{
    n: string;
  }>();
  expect(Number(count?.n)).toBeGreaterThanOrEqual(sent);
});
