import { fillFromStores } from '../../replay-tools/read/contents.ts';
import { readPartition } from '../../replay-tools/read/partition-reader.ts';
import { isNeeded, type SessionSource, type SourceRecord } from '../../replay-tools/read/source.ts';
import { topics } from '../../schemas/topics.ts';
import { type BlobPort, createDirectoryBlobs } from '../../services/chassis/content/blobs.ts';
import { createFixedCodec } from '../../services/chassis/log/codec.ts';
import { createKafkaLog } from '../../services/chassis/log/kafka/kafka-log.ts';
import type { LogPort, LogRecord } from '../../services/chassis/log/port.ts';
import { parseHeader, type RecordBody } from '../../services/chassis/protocol/record.ts';

export type PartitionImage = Readonly<{
  topic: string;
  partition: number;
  /** Offset and event id of every record, whoever wrote it. */
  offsets: ReadonlyMap<number, string>;
  /** Records of session logs that are ours. */
  records: readonly SourceRecord[];
}>;

const read: readonly string[] = topics
  .filter(({ kind }) => kind === 'session-log' || kind === 'public')
  .map(({ name }) => name);
const codec = createFixedCodec();

/** All that is in the log, read once, straight from the brokers. */
export class LogImage {
  readonly partitions: readonly PartitionImage[];
  private readonly blobs: BlobPort;

  private constructor(partitions: readonly PartitionImage[], blobs: BlobPort) {
    this.partitions = partitions;
    this.blobs = blobs;
  }

  static async read(brokers: readonly string[], blobDir: string): Promise<LogImage> {
    const log = createKafkaLog({ brokers, clientId: 'torture-proof' });
    const partitions: PartitionImage[] = [];
    for (const topic of read) {
      for (const [partition, bounds] of await log.bounds(topic))
        partitions.push(await imageOf(log, { topic, partition }, bounds));
    }
    await log.close();
    return new LogImage(partitions, createDirectoryBlobs(blobDir));
  }

  /** Every session, each as the replay tools read it. */
  sources(): readonly SessionSource[] {
    return this.partitions.flatMap((image) => {
      const sessions = new Set(image.records.map(({ header }) => header.session));
      sessions.delete('');
      return [...sessions].map((session) => this.source(image, session));
    });
  }

  get events(): number {
    const bodies = this.partitions.flatMap(({ records }) => records);
    return bodies.reduce((sum, { header }) => sum + header.types.length, 0);
  }

  private source(image: PartitionImage, session: string): SessionSource {
    const { topic, partition } = image;
    const { blobs } = this;
    return {
      session,
      topic,
      partition,
      origin: `kafka ${topic}/${partition}`,
      from: 0,
      acceptance: {},
      whole: true,
      async *records() {
        for (const record of image.records) {
          if (!isNeeded(record.header, session)) continue;
          const { offset, header, body } = record;
          const own = header.session === session && body !== undefined;
          yield own
            ? { offset, header, body: await fillFromStores(body, header, { blobs }) }
            : { offset, header };
        }
      },
    };
  }
}

async function imageOf(
  log: LogPort,
  { topic, partition }: { topic: string; partition: number },
  bounds: { low: number; high: number },
): Promise<PartitionImage> {
  const offsets = new Map<number, string>();
  const records: SourceRecord[] = [];
  for await (const record of readPartition(log, { topic, partition }, bounds)) {
    offsets.set(record.offset, record.headers['ce_id'] ?? '');
    const header = parseHeader(record.headers);
    if (header === undefined) continue;
    const body = bodyOf(record);
    const { offset } = record;
    records.push(body === undefined ? { offset, header } : { offset, header, body });
  }
  return { topic, partition, offsets, records };
}

const bodyOf = ({ value }: LogRecord): RecordBody | undefined =>
  value === null ? undefined : (codec.decode(value).body as RecordBody);
