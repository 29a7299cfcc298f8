import { Kafka, logLevel, type Message, Partitioners, type Producer } from 'kafkajs';
import { sessionTopic } from '../../schemas/topics.ts';
import type { RuntimeConfig } from '../../services/chassis/config/runtime-config.ts';
import { createKafkaLog } from '../../services/chassis/log/kafka/kafka-log.ts';
import type { LogPort, LogRecord } from '../../services/chassis/log/port.ts';
import { bytesOf } from '../support/loop-costs.ts';
import { print } from './figures.ts';
import { startHostProcess } from './host-process.ts';
import {
  type Bounds,
  type Loops,
  loopServices,
  openLoops,
  recordsSince,
  scripted,
} from './loops.ts';

/**
 * What one host decides and appends, against what the bare client appends with a group commit of its own: records of the
 * same size in batches of the same length to as many partitions, with as many at once who wait for theirs.
 */

const atOnce = 200;
const seconds = 10;
const rawTopic = 'longrein.bench.commit';

async function together(loops: Loops, forSeconds: number): Promise<void> {
  const startedMs = performance.now();
  const line = async (): Promise<void> => {
    while (performance.now() - startedMs < forSeconds * 1_000) await loops.run();
  };
  await Promise.all(Array.from({ length: atOnce }, line));
}

const eventsOf = ({ headers }: LogRecord): number =>
  headers['lr_kind'] === 'turn' ? (headers['lr_types'] ?? '').split(',').length : 1;

type Work = Readonly<{ events: number; records: number; batches: number; bytes: number }>;

/** What stands in the log since; a batch of a host begins with place 0. */
async function workSince(log: LogPort, from: Bounds): Promise<Work> {
  const records = await recordsSince(log, from);
  return {
    records: records.length,
    events: records.reduce((sum, record) => sum + eventsOf(record), 0),
    batches: records.filter(({ headers }) => (headers['lr_batch_index'] ?? '0') === '0').length,
    bytes: records.reduce((sum, record) => sum + bytesOf(record), 0),
  };
}

/** Commits what came meanwhile with the next request: one is in flight for a partition (what a writer of ours does). */
class RawGroupCommit {
  private readonly producer: Producer;
  private readonly partition: number;
  private queue: { messages: Message[]; done: () => void }[] = [];
  private sending = false;

  constructor(producer: Producer, partition: number) {
    this.producer = producer;
    this.partition = partition;
  }

  append(messages: Message[]): Promise<void> {
    return new Promise((resolve, reject) => {
      this.queue.push({ messages, done: resolve });
      if (!this.sending) this.run().catch(reject);
    });
  }

  private async run(): Promise<void> {
    this.sending = true;
    while (this.queue.length > 0) {
      const batch = this.queue;
      this.queue = [];
      const messages = batch.flatMap((one) =>
        one.messages.map((message) => ({ ...message, partition: this.partition })),
      );
      await this.producer.send({ topic: rawTopic, acks: -1, messages });
      for (const one of batch) one.done();
    }
    this.sending = false;
  }
}

/** Records a second of the bare client, with as many at once who wait for what they append. */
async function rawRecordsPerSecond(config: RuntimeConfig, each: number, bytes: number) {
  const kafka = new Kafka({ brokers: [...config.brokers], logLevel: logLevel.NOTHING });
  const admin = kafka.admin();
  const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });
  await Promise.all([admin.connect(), producer.connect()]);
  const spec = { topic: rawTopic, numPartitions: config.partitions };
  await admin.createTopics({ topics: [spec], waitForLeaders: true });
  const value = Buffer.alloc(bytes, 'x');
  const commits = Array.from(
    { length: config.partitions },
    (_, partition) => new RawGroupCommit(producer, partition),
  );
  const startedMs = performance.now();
  let done = 0;
  const line = async (_: unknown, at: number): Promise<void> => {
    while (performance.now() - startedMs < seconds * 1_000) {
      const messages = Array.from({ length: each }, () => ({ value }));
      await commits[at % commits.length]?.append(messages);
      done += each;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, line));
  const perSecond = (done * 1_000) / (performance.now() - startedMs);
  await Promise.all([admin.disconnect(), producer.disconnect()]);
  return perSecond;
}

/** Loops on every partition at once. */
export async function groupCommit(config: RuntimeConfig): Promise<void> {
  const host = await startHostProcess(loopServices, scripted('looper'));
  const log = createKafkaLog({ brokers: config.brokers, clientId: 'bench' });
  const { loops, close } = await openLoops(config, log);
  await together(loops, 5);
  const from = await log.bounds(sessionTopic('normal'));
  const startedMs = performance.now();
  await together(loops, seconds);
  const tookSeconds = (performance.now() - startedMs) / 1_000;
  const work = await workSince(log, from);
  await close();
  await log.close();
  await host.stop();
  const recordsPerBatch = Math.max(1, Math.round(work.records / work.batches));
  const bytesPerRecord = Math.round(work.bytes / work.records);
  const raw = await rawRecordsPerSecond(config, recordsPerBatch, bytesPerRecord);
  const recordsPerSecond = work.records / tookSeconds;
  print({
    ...{ bench: 'group-commit', atOnce, recordsPerBatch, bytesPerRecord },
    ...{ eventsPerSecond: work.events / tookSeconds, recordsPerSecond },
    ...{ rawRecordsPerSecond: raw, ofRaw: recordsPerSecond / raw },
  });
}
