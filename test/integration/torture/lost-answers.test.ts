import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Admin, Kafka, logLevel, Partitioners, type Producer } from 'kafkajs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readSettings } from '../../../deploy/local/config.ts';
import { readPartition } from '../../../replay-tools/read/partition-reader.ts';
import { event } from '../../../schemas/event.ts';
import { realClock } from '../../../services/chassis/host/real-ports.ts';
import { PartitionWriter } from '../../../services/chassis/host/writer.ts';
import { createKafkaLog } from '../../../services/chassis/log/kafka/kafka-log.ts';
import type { LogPort, LogRecord } from '../../../services/chassis/log/port.ts';
import { accept } from '../../../services/chassis/protocol/acceptance.ts';
import { parseHeader, type RecordBody } from '../../../services/chassis/protocol/record.ts';
import { sealEvent } from '../../../services/chassis/protocol/seal.ts';
import { quietPorts } from '../../support/quiet-ports.ts';
import { BrokerCluster, findJavaTools } from '../../torture/broker-cluster.ts';
import type { FaultProxy } from '../../torture/fault-proxy.ts';
import { ProcessBook } from '../../torture/process-book.ts';

/** The silent losses of the bare client, and our log under the same faults (DESIGN 3, rules 2 and 15). */

let dir: string;
let book: ProcessBook;
let cluster: BrokerCluster;
let admin: Admin;
let producer: Producer;
let log: LogPort;
let topics = 0;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'longrein-proxy-'));
  const settings = readSettings({ ...process.env, LONGREIN_STATE_DIR: dir });
  book = new ProcessBook(dir);
  cluster = await BrokerCluster.start({ settings, book, tools: await findJavaTools(settings) }, 2);
  const client = (brokers: readonly string[]): Kafka =>
    new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING, retry: { retries: 20 } });
  admin = client(cluster.inside).admin();
  producer = client(cluster.outside).producer({
    idempotent: true,
    createPartitioner: Partitioners.DefaultPartitioner,
  });
  log = createKafkaLog({ brokers: cluster.outside, clientId: 'ours' });
  await Promise.all([admin.connect(), producer.connect()]);
}, 120_000);

afterAll(async () => {
  await Promise.all([admin?.disconnect(), producer?.disconnect(), log?.close()]);
  await cluster?.close();
  await book?.endAll();
  rmSync(dir, { recursive: true });
});

/** A topic with a partition of one copy on each of these brokers. */
async function topicOn(...brokers: readonly number[]): Promise<string> {
  const topic = `lost-${++topics}`;
  const replicaAssignment = brokers.map((id, partition) => ({ partition, replicas: [id] }));
  await admin.createTopics({ topics: [{ topic, replicaAssignment }], waitForLeaders: true });
  return topic;
}

async function recordsOf(topic: string, partition: number): Promise<readonly LogRecord[]> {
  const found: LogRecord[] = [];
  const bounds = (await log.bounds(topic)).get(partition) ?? { low: 0, high: 0 };
  for await (const one of readPartition(log, { topic, partition }, bounds)) found.push(one);
  return found;
}

const valuesOf = async (topic: string, partition: number): Promise<readonly string[]> =>
  (await recordsOf(topic, partition)).map(({ value }) => Buffer.from(value ?? []).toString());

const proxyOf = (broker: number): FaultProxy => cluster.proxies.get(broker) as FaultProxy;

/** Gives the partition to another broker, which has nothing of it yet. */
async function move(topic: string, partition: number, to: number): Promise<void> {
  const partitionAssignment = [{ partition, replicas: [to] }];
  await admin.alterPartitionReassignments({ topics: [{ topic, partitionAssignment }] });
  for (;;) {
    const { topics: found } = await admin.fetchTopicMetadata({ topics: [topic] });
    const leader = found[0]?.partitions.find((one) => one.partitionId === partition)?.leader;
    if (leader === to) return;
    await sleep(50);
  }
}

/** A host's writer to a partition, over the real log. */
function writerTo(topic: string, partition: number) {
  return new PartitionWriter({ topic, partition }, quietPorts(log, realClock), {
    onAppended: () => undefined,
  });
}

const owner = { service: 'supervisor', incarnation: 'one', epoch: 1 };

const epoch: RecordBody = {
  kind: 'epoch',
  services: [owner.service],
  number: 1,
  incarnation: owner.incarnation,
  host: 'host',
  release: '0',
  atMs: 1,
};

const turn = (session: string): RecordBody => ({
  kind: 'turn',
  ...owner,
  session,
  tenant: '',
  principal: '',
  labels: {},
  base: '',
  baseOffset: -1,
  foreseen: [],
  causes: [],
  facts: { data: { nowMs: 1 } },
  behaviour: 1,
  release: '0',
  atMs: 1,
  events: [sealEvent('salt', event('session.closed', {}))],
});

/** Sends it and waits until the broker has it. */
function send(writer: PartitionWriter, id: string, body: RecordBody): Promise<void> {
  return new Promise((resolve, reject) => {
    const records = [{ id, body, traceparent: '' }];
    writer.push({ records, onAppended: () => resolve(), onRefused: reject });
  });
}

/** Ids of the records that count, by the rules that every reader follows. */
async function accepted(topic: string, partition: number): Promise<readonly string[]> {
  const state = {};
  return (await recordsOf(topic, partition)).flatMap(({ headers }) => {
    const header = parseHeader(headers);
    return header !== undefined && accept(state, header) ? [header.id] : [];
  });
}

describe('an answer that is lost after the records were written', () => {
  it('makes the bare client write one record twice and lose another, and call both written', async () => {
    const topic = await topicOn(1);
    await producer.send({ topic, messages: [{ value: 'before' }] });
    proxyOf(1).arm('cut');
    const sent = ['A', 'B'].map((value) => producer.send({ topic, messages: [{ value }] }));
    expect((await Promise.allSettled(sent)).map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
    ]);
    const [, first, second, ...rest] = await valuesOf(topic, 0);
    expect(['A', 'B']).toContain(first);
    expect([second, ...rest]).toEqual([first]);
  });

  it('costs our log nothing: each record counts once', async () => {
    const topic = await topicOn(1);
    const writer = writerTo(topic, 0);
    await send(writer, 'epoch', epoch);
    proxyOf(1).arm('cut');
    const ids = ['A', 'B', 'C'];
    await Promise.all(ids.map((id) => send(writer, id, turn(id))));
    expect(await accepted(topic, 0)).toEqual(['epoch', ...ids]);
    expect((await recordsOf(topic, 0)).length).toBeGreaterThan(1 + ids.length);
  });
});

describe('a send to two brokers of which one says nothing until its partition has moved', () => {
  it('is called written by the bare client, which never wrote the second half', async () => {
    const topic = await topicOn(1, 2);
    const messages = [0, 1].map((partition) => ({ value: `before ${partition}`, partition }));
    await producer.send({ topic, messages });
    proxyOf(2).arm('hold');
    const sent = producer.send({
      topic,
      messages: [0, 1].map((partition) => ({ value: `after ${partition}`, partition })),
    });
    await move(topic, 1, 1);
    proxyOf(2).release();
    const answer = await sent;
    expect(answer.map(({ partition }) => partition)).toEqual([0]);
    expect(await valuesOf(topic, 0)).toEqual(['before 0', 'after 0']);
    expect(await valuesOf(topic, 1)).toEqual(['before 1']);
  });

  it('is written once to each partition by our log', async () => {
    const topic = await topicOn(1, 2);
    const writers = [0, 1].map((partition) => writerTo(topic, partition));
    await Promise.all(writers.map((writer) => send(writer, 'epoch', epoch)));
    proxyOf(2).arm('hold');
    const sent = Promise.all(writers.map((writer) => send(writer, 'after', turn('after'))));
    await move(topic, 1, 1);
    proxyOf(2).release();
    await sent;
    for (const partition of [0, 1])
      expect(await accepted(topic, partition)).toEqual(['epoch', 'after']);
  });
});

it('a partition that is missing in the answer to a send of several is sent again', async () => {
  const topic = await topicOn(1, 1);
  const writers = [0, 1].map((partition) => writerTo(topic, partition));
  await Promise.all(writers.map((writer) => send(writer, 'epoch', epoch)));
  proxyOf(1).arm('omit');
  await Promise.all(
    writers.flatMap((writer) => ['A', 'B'].map((id) => send(writer, id, turn(id)))),
  );
  expect(proxyOf(1).struck.at(-1)).toBe('omit');
  for (const partition of [0, 1])
    expect(await accepted(topic, partition)).toEqual(['epoch', 'A', 'B']);
});
