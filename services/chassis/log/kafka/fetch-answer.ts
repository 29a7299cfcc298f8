/** Decodes the answer to a fetch request, version 11, down to the bytes of each partition. */
import { LongreinError } from '../../errors.ts';
import { ByteReader } from './byte-reader.ts';

const SUPPORTED_VERSION = 11;

export type FetchedPartition = Readonly<{
  topic: string;
  partition: number;
  errorCode: number;
  highWatermark: number;
  logStartOffset: number;
  bytes: Buffer;
}>;

export type FetchAnswer = Readonly<{
  /** Of the whole request; those of partitions stand with them. */
  errorCode: number;
  sessionId: number;
  partitions: readonly FetchedPartition[];
}>;

/** Throws `BROKER_TOO_OLD` for another version of the protocol (brokers before Kafka 2.3). */
export function decodeFetchAnswer(answer: { version: number; payload: Buffer }): FetchAnswer {
  if (answer.version !== SUPPORTED_VERSION) {
    throw new LongreinError('BROKER_TOO_OLD', 'The Kafka broker is older than 2.3.', {
      fix: 'Use Kafka 4.0 or newer.',
    });
  }
  const reader = new ByteReader(answer.payload);
  reader.skip(4); // throttle time
  const errorCode = reader.int16();
  const sessionId = reader.int32();
  const partitions = reader.list(() => readTopic(reader)).flat();
  return { errorCode, sessionId, partitions };
}

function readTopic(reader: ByteReader): FetchedPartition[] {
  const topic = reader.string();
  return reader.list(() => readPartition(topic, reader));
}

function readPartition(topic: string, reader: ByteReader): FetchedPartition {
  const partition = reader.int32();
  const errorCode = reader.int16();
  const highWatermark = reader.int64();
  reader.skip(8); // last stable offset
  const logStartOffset = reader.int64();
  reader.list(() => reader.skip(16)); // aborted transactions
  reader.skip(4); // preferred replica
  const bytes = reader.slice(reader.int32());
  return { topic, partition, errorCode, highWatermark, logStartOffset, bytes };
}
