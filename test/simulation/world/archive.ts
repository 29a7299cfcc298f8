import { watermarksTopic } from '../../../schemas/topics.ts';
import type { MemoryCluster } from '../../../services/chassis/log/memory/memory-cluster.ts';
import type { LogRecord, PartitionName } from '../../../services/chassis/log/port.ts';

/** Something that a janitor deleted: all below this offset. */
export type TrimSeen = PartitionName &
  Readonly<{
    below: number;
    /** Where the partition ended then. */
    high: number;
    /** So many records stood in the topic of watermarks when it was told to. */
    marks: number;
  }>;

/** What janitors delete, kept for the checkers: they compare with the whole log. */
export class Archive {
  readonly trims: TrimSeen[] = [];
  readonly #cluster: MemoryCluster;
  readonly #kept = new Map<string, LogRecord[]>();

  constructor(cluster: MemoryCluster) {
    this.#cluster = cluster;
  }

  /** Somebody is about to delete what stands below this offset. */
  take({ topic, partition }: PartitionName, below: number): void {
    const marks = this.#cluster.records({ topic: watermarksTopic, partition: 0 }).length;
    const kept = this.#of({ topic, partition });
    const live = this.#cluster.records({ topic, partition });
    const high = (live.at(-1)?.offset ?? below - 1) + 1;
    this.trims.push({ topic, partition, below, high, marks });
    kept.push(...live.filter(({ offset }) => offset >= kept.length && offset < below));
  }

  /** All records that ever were in a partition. */
  records(at: PartitionName): readonly LogRecord[] {
    const live = this.#cluster.records(at);
    const kept = this.#kept.get(`${at.topic}/${at.partition}`) ?? [];
    if (kept.length === 0) return live;
    // What was to be deleted may be there still: its janitor died.
    return [...kept, ...live.filter(({ offset }) => offset >= kept.length)];
  }

  #of({ topic, partition }: PartitionName): LogRecord[] {
    const name = `${topic}/${partition}`;
    const kept = this.#kept.get(name) ?? [];
    this.#kept.set(name, kept);
    return kept;
  }
}
