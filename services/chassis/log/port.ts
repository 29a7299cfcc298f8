/**
 * The log as the host sees it: partitions that can be appended to and read by offset. Two implementations
 * (Kafka, memory) pass one contract suite.
 *
 * Invariants every implementation keeps:
 * L1 `append` writes all records, in order, contiguously at its base offset, or says that it does not know.
 * L2 Readers see each partition's records in offset order, each exactly once per reading.
 * L3 A position outside [low, high] is reported as an error, never reset.
 */

/** One record to be appended. Header values are text. */
export type OutgoingRecord = Readonly<{
  key: string;
  headers: Readonly<Record<string, string>>;
  value: Uint8Array | null;
}>;

/** One record as read. `timestampMs` is the broker's or the producer's, in milliseconds since 1970. */
export type LogRecord = Readonly<{
  topic: string;
  partition: number;
  offset: number;
  key: string;
  headers: Readonly<Record<string, string>>;
  value: Uint8Array | null;
  timestampMs: number;
}>;

export type PartitionName = Readonly<{ topic: string; partition: number }>;

/** `low` is the first readable offset, `high` the offset that the next record will get. */
export type Bounds = Readonly<{ low: number; high: number }>;

/** Group membership only: which partitions this member is assigned. It delivers no records. */
export type Membership = Readonly<{
  /** Offsets for outside tools to see lag; nothing is ever decided from them. */
  commit(offsets: readonly (PartitionName & { offset: number })[]): Promise<void>;
  leave(): Promise<void>;
}>;

/** What a failed append means. `uncertain`: the records may be in the log; send the same bytes again. */
export type AppendFailure = 'uncertain' | 'refused';

/**
 * Why a request was refused. `too-large` and `invalid`: the same records never will be taken. `not-allowed`: they may be
 * once the right, the quota or the policy was mended.
 */
export type Refusal = 'too-large' | 'invalid' | 'not-allowed';

export type Reader = Readonly<{
  /** Starts (or moves) reading a partition at this offset. */
  assign(partition: PartitionName, fromOffset: number): void;
  unassign(partition: PartitionName): void;
  /** Stops and starts delivery without losing the position (back-pressure). */
  pause(partition: PartitionName): void;
  resume(partition: PartitionName): void;
  /** The owner wrote the records in [fromOffset, toOffset) and has them: they need not be delivered. A hint. */
  skip?(partition: PartitionName, fromOffset: number, toOffset: number): void;
  close(): Promise<void>;
}>;

export type ReaderOptions = Readonly<{
  /** How long reading may rest after records came, in milliseconds: who is in no hurry reads more at a time. */
  restMs?: number;
  /** A partition that is assigned is asked for at once, also where the request that waits would soon end by itself. */
  isPrompt?: boolean;
}>;

export type ReaderHandlers = Readonly<{
  /** Called with records of one partition in offset order. Must return at once and never throw. */
  onRecords(partition: PartitionName, records: readonly LogRecord[]): void;
  /** The partition cannot be read on (offset out of range, topic gone). It is unassigned already. */
  onPartitionError(partition: PartitionName, error: Error): void;
  /** The broker cannot be reached; reading goes on by itself when it can. For logs and health only. */
  onInterruption(error: Error): void;
}>;

export type MembershipHandlers = Readonly<{
  /** The whole set of partitions that this member holds from now on. Must not throw. */
  onAssignment(partitions: readonly PartitionName[]): void;
  /** Membership ended and cannot go on: the process should end with a clear message. */
  onCrash(error: Error): void;
}>;

export type TopicSpec = Readonly<{
  name: string;
  partitions: number;
  config: Readonly<Record<string, string>>;
}>;

export type LogPort = Readonly<{
  /**
   * Appends records to one partition in one request. Throws `AppendError`: `uncertain` (lost answer, broker
   * away: the same call may be repeated) or `refused` (too large, not authorised: never written).
   */
  append(
    partition: PartitionName,
    records: readonly OutgoingRecord[],
  ): Promise<{ baseOffset: number }>;
  /** Joins a consumer group for the assignment of partitions. */
  join(group: string, topics: readonly string[], handlers: MembershipHandlers): Promise<Membership>;
  /** A reader outside every group. */
  reader(handlers: ReaderHandlers, options?: ReaderOptions): Promise<Reader>;
  bounds(topic: string): Promise<ReadonlyMap<number, Bounds>>;
  /**
   * The identity that the topic got when it was made: another one means that it was deleted and made again, and its
   * offsets are others. Undefined where the brokers are too old to say. Throws `TOPIC_UNKNOWN`.
   */
  topicId(topic: string): Promise<string | undefined>;
  /** The first offset whose record has this time (ms since 1970) or a later one; the high offset where none has. */
  offsetAt(partition: PartitionName, timestampMs: number): Promise<number>;
  /** Creates missing topics; refuses (LongreinError TOPIC_PARTITIONS_DIFFER) one with another partition count. */
  ensureTopics(specs: readonly TopicSpec[]): Promise<void>;
  /** Deletes what is below the offset. */
  trim(partition: PartitionName, beforeOffset: number): Promise<void>;
  close(): Promise<void>;
}>;
