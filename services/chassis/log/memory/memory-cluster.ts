/**
 * A cluster in memory, for the simulation and for fast tests: topics, groups, and the faults that a
 * test wants. Programs connect to it as to a real one, each with a log of its own that can crash.
 * Everything that happens between two programs goes through the scheduler, so a run depends on it
 * and on nothing else.
 */

import type { LogRecord, OutgoingRecord, PartitionName } from '../port.ts';
import { MemoryGroup } from './memory-group.ts';
import { MemoryLog } from './memory-log.ts';
import type { AppendFault, MemoryNetwork } from './memory-network.ts';
import { MemoryTopics } from './memory-topics.ts';
import { eventLoopScheduler, type Scheduler } from './scheduler.ts';

export type MemoryFaults = Readonly<{
  /** Asked once for each append, by the name of the program that sends it. */
  append?(
    partition: PartitionName,
    records: readonly OutgoingRecord[],
    program: string,
  ): AppendFault;
}>;

export type MemoryClusterOptions = Readonly<{
  scheduler?: Scheduler;
  /** The time that records get, in milliseconds since 1970; default: the real time. */
  nowMs?: () => number;
  faults?: MemoryFaults;
  /** After how long a group notices that a member has crashed; default 0 ms. */
  crashNoticedMs?: number;
}>;

export class MemoryCluster implements MemoryNetwork {
  readonly topics = new MemoryTopics();
  readonly scheduler: Scheduler;
  readonly crashNoticedMs: number;
  readonly #faults: MemoryFaults;
  readonly #nowMs: () => number;
  readonly #groups = new Map<string, MemoryGroup>();
  readonly #logs = new Set<Pick<MemoryLog, 'notice'>>();
  #connections = 0;

  constructor(options: MemoryClusterOptions = {}) {
    this.scheduler = options.scheduler ?? eventLoopScheduler;
    this.crashNoticedMs = options.crashNoticedMs ?? 0;
    this.#faults = options.faults ?? {};
    this.#nowMs = options.nowMs ?? Date.now;
  }

  /** A log for one program. Names need not be unique: a program that starts again has the same. */
  connect(name: string): MemoryLog {
    this.#connections += 1;
    const log = new MemoryLog(this, { name, connection: this.#connections });
    this.#logs.add(log);
    return log;
  }

  /** Assigns a group's partitions anew, as a broker may do at any time. */
  rebalance(group: string): void {
    this.group(group).rebalance();
  }

  /** All records of a partition, for assertions. */
  records(name: PartitionName): readonly LogRecord[] {
    const partition = this.topics.partition(name);
    return partition?.read(partition.bounds.low, Number.POSITIVE_INFINITY) ?? [];
  }

  group(name: string): MemoryGroup {
    const known = this.#groups.get(name);
    if (known !== undefined) return known;
    const group = new MemoryGroup(this.scheduler, (topics) => this.topics.lastCounts(topics));
    this.#groups.set(name, group);
    return group;
  }

  faultOf(
    partition: PartitionName,
    records: readonly OutgoingRecord[],
    program: string,
  ): AppendFault {
    return this.#faults.append?.(partition, records, program) ?? 'ok';
  }

  write(name: PartitionName, records: readonly OutgoingRecord[]): number | undefined {
    const baseOffset = this.topics.partition(name)?.append(records, this.#nowMs());
    if (baseOffset !== undefined) for (const log of this.#logs) log.notice(name);
    return baseOffset;
  }

  forget(log: Pick<MemoryLog, 'notice'>): void {
    this.#logs.delete(log);
  }
}
