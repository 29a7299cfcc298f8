import type { OutgoingRecord, PartitionName } from '../port.ts';
import type { MemoryGroup } from './memory-group.ts';
import type { MemoryTopics } from './memory-topics.ts';
import type { Scheduler } from './scheduler.ts';

/**
 * What becomes of an append. `ok`: written and acknowledged. `lost`: not written, outcome
 * uncertain. `lost-ack`: written, outcome uncertain. `refused`, `too-large`: not written, and the
 * caller is told so. With `delayMs` it is written that much later, and acknowledged, unless the caller was told
 * after `timeoutMs` that the outcome is uncertain.
 */
export type AppendFault =
  | 'ok'
  | 'lost'
  | 'lost-ack'
  | 'refused'
  | 'too-large'
  | Readonly<{ delayMs: number; timeoutMs?: number }>;

/** What a log needs of the cluster that it is connected to. */
export interface MemoryNetwork {
  readonly topics: MemoryTopics;
  readonly scheduler: Scheduler;
  readonly crashNoticedMs: number;
  group(name: string): MemoryGroup;
  faultOf(
    partition: PartitionName,
    records: readonly OutgoingRecord[],
    program: string,
  ): AppendFault;
  /** Writes and lets every reader know. Undefined: no such partition. */
  write(name: PartitionName, records: readonly OutgoingRecord[]): number | undefined;
  /** Readers of a log that is closed are told nothing any more. */
  forget(log: Readonly<{ notice(partition: PartitionName): void }>): void;
}
