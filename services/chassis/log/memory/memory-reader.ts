/** A reader of partitions in memory. Each delivery is scheduled; a partition has one at a time. */
import { InvariantError } from '../../errors.ts';
import { partitionKey, positionOutOfRange, topicUnknown } from '../log-error.ts';
import type { PartitionName, Reader, ReaderHandlers } from '../port.ts';
import type { MemoryTopics } from './memory-topics.ts';
import type { Scheduler } from './scheduler.ts';

const DELIVERY_RECORDS_MAX = 500;

type Reading = {
  readonly name: PartitionName;
  position: number;
  paused: boolean;
  due: boolean;
};

export type MemoryReaderOptions = Readonly<{
  topics: MemoryTopics;
  scheduler: Scheduler;
  handlers: ReaderHandlers;
  onClosed(reader: MemoryReader): void;
}>;

export class MemoryReader implements Reader {
  readonly #options: MemoryReaderOptions;
  readonly #readings = new Map<string, Reading>();
  #stopped = false;

  constructor(options: MemoryReaderOptions) {
    this.#options = options;
  }

  assign({ topic, partition }: PartitionName, fromOffset: number): void {
    if (!Number.isSafeInteger(fromOffset) || fromOffset < 0) {
      throw new InvariantError(`${fromOffset} is not an offset to read from.`);
    }
    const name = { topic, partition };
    const reading = { name, position: fromOffset, paused: false, due: false };
    this.#readings.set(partitionKey(name), reading);
    this.#schedule(reading);
  }

  unassign(partition: PartitionName): void {
    this.#readings.delete(partitionKey(partition));
  }

  pause(partition: PartitionName): void {
    const reading = this.#readings.get(partitionKey(partition));
    if (reading !== undefined) reading.paused = true;
  }

  resume(partition: PartitionName): void {
    const reading = this.#readings.get(partitionKey(partition));
    if (reading === undefined) return;
    reading.paused = false;
    this.#schedule(reading);
  }

  async close(): Promise<void> {
    this.stop();
    this.#options.onClosed(this);
  }

  /** Nothing is called any more: the process has crashed or closed the reader. */
  stop(): void {
    this.#stopped = true;
    this.#readings.clear();
  }

  /** The partition has new records. */
  notice(partition: PartitionName): void {
    const reading = this.#readings.get(partitionKey(partition));
    if (reading !== undefined) this.#schedule(reading);
  }

  #schedule(reading: Reading): void {
    if (reading.due || this.#stopped) return;
    reading.due = true;
    this.#options.scheduler.schedule(0, () => {
      reading.due = false;
      if (this.#readings.get(partitionKey(reading.name)) === reading) this.#deliver(reading);
    });
  }

  #deliver(reading: Reading): void {
    if (reading.paused) return;
    const { name, position } = reading;
    const partition = this.#options.topics.partition(name);
    if (partition === undefined) {
      this.#giveUp(name, topicUnknown(partitionKey(name)));
      return;
    }
    const { low, high } = partition.bounds;
    if (position < low || position > high) {
      this.#giveUp(name, positionOutOfRange(name, position));
      return;
    }
    const records = partition.read(position, DELIVERY_RECORDS_MAX);
    if (records.length === 0) return;
    // Before the call, because the owner may assign another position in it.
    reading.position = position + records.length;
    if (reading.position < high) this.#schedule(reading);
    this.#options.handlers.onRecords(name, records);
  }

  #giveUp(name: PartitionName, error: Error): void {
    this.#readings.delete(partitionKey(name));
    this.#options.handlers.onPartitionError(name, error);
  }
}
