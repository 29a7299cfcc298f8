/** The log as a client uses it: publish to the goals topic, read what becomes of a goal. */
import { goalsTopic } from '../../../schemas/topics.ts';
import { LongreinError } from '../../chassis/errors.ts';
import { createFixedCodec, isFramed } from '../../chassis/log/codec.ts';
import { createKafkaLog } from '../../chassis/log/kafka/kafka-log.ts';
import { partitionOf } from '../../chassis/log/partition.ts';
import type { LogPort, LogRecord, OutgoingRecord, PartitionName } from '../../chassis/log/port.ts';
import { readLogAddress } from './config.ts';
import type { Environment } from './context.ts';

/** Runs the work with an open log and closes it. */
export async function withLog<T>(
  environment: Environment,
  work: (log: LogPort) => Promise<T>,
): Promise<T> {
  const { brokers } = await readLogAddress(environment);
  const log = createKafkaLog({ brokers, clientId: 'longrein-cli' });
  try {
    return await work(log);
  } finally {
    await log.close();
  }
}

/** The partition that a key belongs to. Throws STACK_EMPTY if no host has made the topics yet. */
export async function placeOf(log: LogPort, topic: string, key: string): Promise<PartitionName> {
  const partitions = (await boundsOf(log, topic)).size;
  return { topic, partition: partitionOf(key, partitions) };
}

/** The bounds of a topic of ours. */
export async function boundsOf(
  log: LogPort,
  topic: string,
): Promise<ReturnType<LogPort['bounds']>> {
  try {
    return await log.bounds(topic);
  } catch (thrown) {
    if (!(thrown instanceof LongreinError && thrown.code === 'TOPIC_UNKNOWN')) throw thrown;
    throw new LongreinError('STACK_EMPTY', `the broker has no topic ${topic}`, {
      fix: 'Start the services, which make it: longrein up',
      cause: thrown,
    });
  }
}

export interface Published extends PartitionName {
  readonly offset: number;
}

/** Writes one plain JSON record to the goals topic. Needs no registry: intake takes both forms. */
export async function publish(
  log: LogPort,
  key: string,
  message: { headers: Record<string, string>; body: object },
): Promise<Published> {
  const at = await placeOf(log, goalsTopic, key);
  const record: OutgoingRecord = {
    key,
    headers: { 'content-type': 'application/json', ...message.headers },
    value: Buffer.from(JSON.stringify(message.body)),
  };
  const { baseOffset } = await log.append(at, [record]);
  return { ...at, offset: baseOffset };
}

const codec = createFixedCodec();

/** The JSON of a record, framed or plain; undefined where it is neither. */
export function bodyOfRecord(record: Pick<LogRecord, 'value'>): unknown {
  const { value } = record;
  if (value === null) return undefined;
  try {
    if (isFramed(value)) return codec.decode(value).body;
    return JSON.parse(Buffer.from(value).toString('utf8')) as unknown;
  } catch {
    // Bytes that nobody can read are nobody's record.
    return undefined;
  }
}
