/** The topics of a cluster in memory. */
import { refuseOtherCount, topicUnknown } from '../log-error.ts';
import type { PartitionName, TopicSpec } from '../port.ts';
import { MemoryPartition } from './memory-partition.ts';

/** What Kafka allows for one append unless the topic says otherwise, in bytes. */
const APPEND_BYTES_MAX = 1_048_588;

export type MemoryTopic = Readonly<{
  id: string;
  partitions: readonly MemoryPartition[];
  appendBytesMax: number;
}>;

export class MemoryTopics {
  readonly #topics = new Map<string, MemoryTopic>();
  readonly #counts = new Map<string, number>();
  #made = 0;

  /** Creates what is missing. Throws `TOPIC_PARTITIONS_DIFFER`, and then creates nothing. */
  ensure(specs: readonly TopicSpec[]): void {
    for (const spec of specs)
      refuseOtherCount(spec, this.#topics.get(spec.name)?.partitions.length);
    for (const spec of specs) {
      if (this.#topics.has(spec.name)) continue;
      this.#topics.set(spec.name, newTopic(spec, ++this.#made));
      this.#counts.set(spec.name, spec.partitions);
    }
  }

  /** As an administrator might do at any time. */
  delete(topic: string): void {
    this.#topics.delete(topic);
  }

  find(topic: string): MemoryTopic | undefined {
    return this.#topics.get(topic);
  }

  partition({ topic, partition }: PartitionName): MemoryPartition | undefined {
    return this.#topics.get(topic)?.partitions[partition];
  }

  /** Throws `TOPIC_UNKNOWN`. */
  get(topic: string): MemoryTopic {
    const found = this.#topics.get(topic);
    if (found === undefined) throw topicUnknown(topic);
    return found;
  }

  /** The same for a group: a topic that was deleted keeps the number that it had. */
  lastCounts(topics: Iterable<string>): Map<string, number> {
    return new Map([...topics].map((topic) => [topic, this.#counts.get(topic) ?? 0]));
  }

  partitionCounts(topics: Iterable<string>): Map<string, number> {
    const counts = new Map<string, number>();
    for (const topic of topics) counts.set(topic, this.get(topic).partitions.length);
    return counts;
  }
}

function newTopic({ name, partitions, config }: TopicSpec, made: number): MemoryTopic {
  const configured = config['max.message.bytes'];
  return {
    id: `${name}#${made}`,
    appendBytesMax: configured === undefined ? APPEND_BYTES_MAX : Number(configured),
    partitions: Array.from(
      { length: partitions },
      (_, partition) => new MemoryPartition({ topic: name, partition }),
    ),
  };
}
