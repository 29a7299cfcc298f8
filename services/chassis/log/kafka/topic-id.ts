/**
 * The identity of a topic: what tells one that was deleted and made again from the one before. kafkajs speaks no
 * version of the metadata request that has it, so this one request is encoded and decoded here (version 12, whose
 * lengths are of variable size and whose structures end with tags).
 */
import { ByteReader } from './byte-reader.ts';
import type { WireBroker } from './internals.ts';
import { askRaw } from './wire.ts';

const METADATA = 3;
const VERSION = 12;
const ID_BYTES = 16;
const NO_TAGS = Buffer.from([0]);

export type TopicIdentity = Readonly<{ errorCode: number; id: string }>;

/** Undefined where the broker does not speak this version (before Kafka 3.0). */
export async function askTopicId(
  broker: WireBroker,
  topic: string,
): Promise<TopicIdentity | undefined> {
  const spoken = broker.versions?.[METADATA];
  if (spoken === undefined || spoken.maxVersion < VERSION) return undefined;
  const body = requestFor(topic);
  const named = { apiKey: METADATA, apiVersion: VERSION, apiName: 'Metadata' };
  return decodeTopicId(await askRaw(broker, { ...named, body }), topic);
}

/** The first byte belongs to the header, which has tags too in this version. */
function requestFor(topic: string): Buffer {
  const name = Buffer.from(topic, 'utf8');
  const noId = Buffer.alloc(ID_BYTES);
  const one = unsigned(2);
  const flags = Buffer.from([0, 0]); // create nothing, no operations
  const named = [unsigned(name.length + 1), name];
  return Buffer.concat([NO_TAGS, one, noId, ...named, NO_TAGS, flags, NO_TAGS]);
}

/** What a broker says of this topic. */
export function decodeTopicId(payload: Buffer, topic: string): TopicIdentity | undefined {
  const reader = new ByteReader(payload);
  skipTags(reader);
  reader.skip(4); // throttle time
  compactList(reader, () => {
    reader.skip(4); // node id
    compactText(reader);
    reader.skip(4); // port
    compactText(reader);
    skipTags(reader);
  });
  compactText(reader); // cluster
  reader.skip(4); // controller
  const topics = compactList(reader, () => readTopic(reader));
  const found = topics.find(({ name }) => name === topic);
  return found === undefined ? undefined : { errorCode: found.errorCode, id: found.id };
}

function readTopic(reader: ByteReader): TopicIdentity & { name: string } {
  const errorCode = reader.int16();
  const name = compactText(reader);
  const id = Buffer.from(reader.slice(ID_BYTES)).toString('hex');
  reader.skip(1); // internal
  compactList(reader, () => skipPartition(reader));
  reader.skip(4); // operations
  skipTags(reader);
  return { errorCode, name, id };
}

function skipPartition(reader: ByteReader): void {
  reader.skip(2 + 4 + 4 + 4); // error, number, leader, leader epoch
  for (let list = 0; list < 3; list++) compactList(reader, () => reader.skip(4));
  skipTags(reader);
}

function compactList<T>(reader: ByteReader, read: () => T): T[] {
  return Array.from({ length: Math.max(0, reader.unsigned() - 1) }, read);
}

const compactText = (reader: ByteReader): string =>
  reader.slice(reader.unsigned() - 1).toString('utf8');

function skipTags(reader: ByteReader): void {
  for (let left = reader.unsigned(); left > 0; left--) {
    reader.unsigned();
    reader.skip(reader.unsigned());
  }
}

function unsigned(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) + 128);
  }
}
