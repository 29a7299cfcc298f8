/**
 * Appends on their way to one broker. One produce request is on the way at a time, because a broker
 * works off the requests of one connection one after the other anyhow; what arrives meanwhile goes
 * together in the next one, at most one append per partition. So a busy host pays one round trip
 * for many partitions, and an idle one waits for nobody. Every partition in a request succeeds or
 * fails by itself.
 */
import { partitionKey } from '../log-error.ts';
import type { LogRecord, OutgoingRecord, PartitionName } from '../port.ts';

export type PendingAppend = Readonly<{
  partition: PartitionName;
  records: readonly OutgoingRecord[];
  bytes: number;
  settle(outcome: AppendOutcome): void;
}>;

export type AppendOutcome = { baseOffset: LogRecord['offset'] } | { failure: unknown };

/** Sends the appends in one request and settles each of them. Must not throw. */
export type SendAppends = (appends: readonly PendingAppend[]) => Promise<void>;

const REQUEST_BYTES_MAX = 8 * 1024 * 1024;

export class ProduceLane {
  readonly #send: SendAppends;
  #waiting: PendingAppend[] = [];
  #running: Promise<void> | undefined;

  constructor(send: SendAppends) {
    this.#send = send;
  }

  push(append: PendingAppend): void {
    this.#waiting.push(append);
    this.#running ??= this.#run();
  }

  /** Resolves when nothing waits or is on the way. */
  async idle(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) await this.#send(this.#takeNext());
    this.#running = undefined;
  }

  #takeNext(): PendingAppend[] {
    const taken: PendingAppend[] = [];
    const left: PendingAppend[] = [];
    const partitions = new Set<string>();
    let bytes = 0;
    for (const append of this.#waiting) {
      const key = partitionKey(append.partition);
      const fits = taken.length === 0 || bytes + append.bytes <= REQUEST_BYTES_MAX;
      if (fits && !partitions.has(key)) {
        taken.push(append);
        bytes += append.bytes;
      } else {
        left.push(append);
      }
      // An append that has to wait holds back the later ones of its partition.
      partitions.add(key);
    }
    this.#waiting = left;
    return taken;
  }
}
