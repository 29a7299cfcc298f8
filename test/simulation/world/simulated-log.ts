import type { MemoryLog } from '../../../services/chassis/log/memory/memory-log.ts';
import type {
  Bounds,
  LogPort,
  LogRecord,
  Membership,
  MembershipHandlers,
  OutgoingRecord,
  PartitionName,
  Reader,
  ReaderHandlers,
  TopicSpec,
} from '../../../services/chassis/log/port.ts';
import { sessionTopics } from './network.ts';
import { gated, type Process } from './process.ts';

type Seat = {
  readonly group: string;
  readonly topics: readonly string[];
  readonly handlers: MembershipHandlers;
  inner: Membership | undefined;
};

/** What becomes of records on their way to the log; the same records where nothing is changed. */
type Rewriting = (
  partition: PartitionName,
  records: readonly OutgoingRecord[],
) => readonly OutgoingRecord[];

/**
 * The memory log as one simulated process sees it: it can lose its place in its groups without
 * knowing, and what it reads can come late while it goes on writing.
 */
export class SimulatedLog implements LogPort {
  readonly #inner: MemoryLog;
  readonly #process: Process;
  readonly #rewritten: Rewriting;
  readonly #onTrim: (name: PartitionName, beforeOffset: number) => void;
  readonly #seats: Seat[] = [];
  #expelled = false;
  /** So many of the next records of session logs are left out in reading. */
  #skips = 0;
  /** Deliveries that wait while the process is deaf. */
  #waiting: (() => void)[] | undefined;

  constructor(
    inner: MemoryLog,
    process: Process,
    told: {
      rewritten: Rewriting;
      /** Before it deletes what stands below. */
      onTrim(name: PartitionName, beforeOffset: number): void;
    },
  ) {
    this.#inner = inner;
    this.#process = process;
    this.#rewritten = told.rewritten;
    this.#onTrim = told.onTrim;
  }

  get expelled(): boolean {
    return this.#expelled;
  }

  append(
    partition: PartitionName,
    records: readonly OutgoingRecord[],
  ): Promise<{ baseOffset: number }> {
    return gated(this.#process, this.#inner.append(partition, this.#rewritten(partition, records)));
  }

  async join(
    group: string,
    topics: readonly string[],
    handlers: MembershipHandlers,
  ): Promise<Membership> {
    const seat: Seat = { group, topics, handlers, inner: undefined };
    this.#seats.push(seat);
    await gated(this.#process, this.#sit(seat));
    return {
      commit: (offsets) => gated(this.#process, seat.inner?.commit(offsets) ?? Promise.resolve()),
      leave: () => {
        this.#seats.splice(this.#seats.indexOf(seat), 1);
        return gated(this.#process, seat.inner?.leave() ?? Promise.resolve());
      },
    };
  }

  async #sit(seat: Seat): Promise<void> {
    const inner = await this.#inner.join(seat.group, seat.topics, {
      onAssignment: (partitions) =>
        this.#process.run(() => {
          if (!this.#expelled) seat.handlers.onAssignment(partitions);
        }),
      onCrash: (error) => this.#process.run(() => seat.handlers.onCrash(error)),
    });
    seat.inner = inner;
    if (this.#expelled) await inner.leave();
  }

  /** Its groups have given this process up; nobody tells it. */
  expel(): void {
    if (this.#expelled) return;
    this.#expelled = true;
    for (const seat of this.#seats) seat.inner?.leave().catch(() => undefined);
  }

  /** It has learned of it and joins again. */
  rejoin(): void {
    if (!this.#expelled) return;
    this.#expelled = false;
    for (const seat of this.#seats) this.#sit(seat).catch(() => undefined);
  }

  /** A client that loses a record, or a log that has lost one. */
  skip(records: number): void {
    this.#skips = records;
  }

  deafen(): void {
    this.#waiting ??= [];
  }

  hear(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const deliver of waiting) this.#process.run(deliver);
  }

  async reader(handlers: ReaderHandlers): Promise<Reader> {
    const readings = new Map<string, object>();
    const nameOf = ({ topic, partition }: PartitionName): string => `${topic}/${partition}`;
    const deliver = (at: PartitionName, read: readonly LogRecord[]): void => {
      const records = this.#withGap(at, read);
      const reading = readings.get(nameOf(at));
      // What was on the way for an assignment that is over reaches nobody.
      const arrive = (): void => {
        if (reading !== undefined && readings.get(nameOf(at)) === reading)
          handlers.onRecords(at, records);
      };
      if (this.#waiting !== undefined) this.#waiting.push(arrive);
      else this.#process.run(arrive);
    };
    const inner = await gated(
      this.#process,
      this.#inner.reader({
        onRecords: deliver,
        onPartitionError: (at, error) =>
          this.#process.run(() => handlers.onPartitionError(at, error)),
        onInterruption: (error) => this.#process.run(() => handlers.onInterruption(error)),
      }),
    );
    return {
      assign(at, fromOffset) {
        readings.set(nameOf(at), {});
        inner.assign(at, fromOffset);
      },
      unassign(at) {
        readings.delete(nameOf(at));
        inner.unassign(at);
      },
      pause: (at) => inner.pause(at),
      resume: (at) => inner.resume(at),
      close: () => {
        readings.clear();
        return inner.close();
      },
    };
  }

  #withGap({ topic }: PartitionName, records: readonly LogRecord[]): readonly LogRecord[] {
    if (this.#skips === 0 || !sessionTopics.includes(topic)) return records;
    const kept = records.slice(this.#skips);
    this.#skips -= records.length - kept.length;
    return kept;
  }

  bounds(topic: string): Promise<ReadonlyMap<number, Bounds>> {
    return gated(this.#process, this.#inner.bounds(topic));
  }

  topicId(topic: string): Promise<string | undefined> {
    return gated(this.#process, this.#inner.topicId(topic));
  }

  offsetAt(name: PartitionName, timestampMs: number): Promise<number> {
    return gated(this.#process, this.#inner.offsetAt(name, timestampMs));
  }

  ensureTopics(specs: readonly TopicSpec[]): Promise<void> {
    return gated(this.#process, this.#inner.ensureTopics(specs));
  }

  trim(name: PartitionName, beforeOffset: number): Promise<void> {
    this.#onTrim(name, beforeOffset);
    return gated(this.#process, this.#inner.trim(name, beforeOffset));
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  crash(): void {
    this.#inner.crash();
  }
}
