import { Kafka, logLevel, Partitioners } from 'kafkajs';
import { percentile, print, spread } from './figures.ts';

const topic = 'longrein.bench.raw';
const bytes = Buffer.alloc(600, 'x');

/** The bare client: one record out, and the same record in at another consumer. The yardstick of the other figures. */
export async function rawHop(
  brokers: readonly string[],
  count: number,
): Promise<Readonly<{ appendMs: number; hopMs: number }>> {
  const kafka = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING });
  const admin = kafka.admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic, numPartitions: 1 }], waitForLeaders: true });
  const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });
  const consumer = kafka.consumer({ groupId: `bench-${process.pid}`, maxWaitTimeInMs: 250 });
  await Promise.all([producer.connect(), consumer.connect()]);
  await consumer.subscribe({ topic, fromBeginning: true });
  let seen: () => void = () => undefined;
  await consumer.run({ autoCommit: false, eachMessage: async () => seen() });
  const send = () => producer.send({ topic, acks: -1, messages: [{ value: bytes, partition: 0 }] });
  const hops: number[] = [];
  const appends: number[] = [];
  for (let round = -50; round < count; round++) {
    const arrived = new Promise<void>((resolve) => {
      seen = resolve;
    });
    const started = performance.now();
    await send();
    const appended = performance.now();
    await arrived;
    if (round < 0) continue;
    appends.push(appended - started);
    hops.push(performance.now() - started);
  }
  print({ bench: 'raw-append', ...spread(appends) });
  print({ bench: 'raw-hop', ...spread(hops) });
  await Promise.all([consumer.disconnect(), producer.disconnect(), admin.disconnect()]);
  return { appendMs: percentile(appends, 0.5), hopMs: percentile(hops, 0.5) };
}
