/**
 * The log port over a cluster in memory: what one program sees of it, until it closes or crashes.
 */

import { InvariantError } from '../../errors.ts';
import { appendFailed, logClosed, partitionKey, topicUnknown } from '../log-error.ts';
import type {
  Bounds,
  LogPort,
  Membership,
  MembershipHandlers,
  OutgoingRecord,
  PartitionName,
  Reader,
  ReaderHandlers,
  TopicSpec,
} from '../port.ts';
import { sendAppend } from './memory-append.ts';
import type { MemoryNetwork } from './memory-network.ts';
import { MemoryReader } from './memory-reader.ts';

export class MemoryLog implements LogPort {
  readonly name: string;
  readonly #cluster: MemoryNetwork;
  readonly #connection: number;
  readonly #readers = new Set<MemoryReader>();
  /** Member id to group. */
  readonly #members = new Map<string, string>();
  #joins = 0;
  #state: 'open' | 'closed' | 'crashed' = 'open';

  constructor(cluster: MemoryNetwork, identity: { name: string; connection: number }) {
    this.#cluster = cluster;
    this.name = identity.name;
    this.#connection = identity.connection;
  }

  async append(
    partition: PartitionName,
    records: readonly OutgoingRecord[],
  ): Promise<{ baseOffset: number }> {
    if (records.length === 0) throw new InvariantError('An append needs at least one record.');
    if (this.#state === 'closed')
      throw appendFailed('uncertain', { partition, records }, logClosed());
    // What a crashed program does is done by nobody.
    if (this.#state === 'crashed') return new Promise(() => undefined);
    const fault = this.#cluster.faultOf(partition, records, this.name);
    return new Promise((resolve, reject) => {
      const answer: Parameters<typeof sendAppend>[1]['answer'] = (outcome) => {
        if (this.#state === 'crashed') return;
        if ('error' in outcome) reject(outcome.error);
        else resolve(outcome);
      };
      sendAppend(this.#cluster, { partition, records, fault, answer });
    });
  }

  join(
    group: string,
    topics: readonly string[],
    handlers: MembershipHandlers,
  ): Promise<Membership> {
    return this.#later(() => {
      this.#cluster.topics.partitionCounts(topics);
      this.#joins += 1;
      const id = `${this.name}#${this.#connection}.${this.#joins}`;
      const isAlive = (): boolean => this.#state === 'open';
      this.#members.set(id, group);
      this.#cluster.group(group).add({ id, topics, handlers, isAlive });
      return this.#membership(group, id);
    });
  }

  reader(handlers: ReaderHandlers): Promise<Reader> {
    return this.#later(() => {
      const { topics, scheduler } = this.#cluster;
      const onClosed = (one: MemoryReader): boolean => this.#readers.delete(one);
      const reader = new MemoryReader({ topics, scheduler, handlers, onClosed });
      this.#readers.add(reader);
      return reader;
    });
  }

  bounds(topic: string): Promise<ReadonlyMap<number, Bounds>> {
    return this.#later(() => {
      const { partitions } = this.#cluster.topics.get(topic);
      return new Map(partitions.map(({ bounds }, partition) => [partition, bounds]));
    });
  }

  topicId(topic: string): Promise<string | undefined> {
    return this.#later(() => this.#cluster.topics.get(topic).id);
  }

  offsetAt(name: PartitionName, timestampMs: number): Promise<number> {
    return this.#later(() => {
      const partition = this.#cluster.topics.get(name.topic).partitions[name.partition];
      if (partition === undefined) throw topicUnknown(partitionKey(name));
      return partition.offsetAt(timestampMs);
    });
  }

  ensureTopics(specs: readonly TopicSpec[]): Promise<void> {
    return this.#later(() => this.#cluster.topics.ensure(specs));
  }

  trim(name: PartitionName, beforeOffset: number): Promise<void> {
    return this.#later(() => {
      this.#cluster.topics.get(name.topic);
      this.#cluster.topics.partition(name)?.trim(beforeOffset);
    });
  }

  async close(): Promise<void> {
    if (this.#state !== 'open') return;
    this.#end('closed');
    for (const [id, group] of this.#members) this.#cluster.group(group).remove(id);
  }

  /**
   * The program dies: nothing of it is called or settled any more. What it sent may still be
   * written, and its groups notice after the cluster's `crashNoticedMs`.
   */
  crash(): void {
    if (this.#state !== 'open') return;
    this.#end('crashed');
    this.#cluster.scheduler.schedule(this.#cluster.crashNoticedMs, () => {
      for (const [id, group] of this.#members) this.#cluster.group(group).remove(id);
    });
  }

  /** For the cluster: the partition has new records. */
  notice(partition: PartitionName): void {
    for (const reader of this.#readers) reader.notice(partition);
  }

  #end(state: 'closed' | 'crashed'): void {
    this.#state = state;
    for (const reader of this.#readers) reader.stop();
    this.#cluster.forget(this);
  }

  #membership(group: string, id: string): Membership {
    return {
      commit: (offsets) => this.#later(() => this.#cluster.group(group).commit(offsets)),
      leave: () =>
        this.#later(() => {
          this.#members.delete(id);
          this.#cluster.group(group).remove(id);
        }),
    };
  }

  /** Every call takes a turn of the scheduler; that of a crashed program never ends. */
  #later<T>(work: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#cluster.scheduler.schedule(0, () => {
        if (this.#state === 'crashed') return;
        try {
          if (this.#state === 'closed') throw logClosed();
          resolve(work());
        } catch (thrown) {
          reject(thrown);
        }
      });
    });
  }
}
