/**
 * Which partitions a reader reads, and from where. A partition that is assigned anew gets a new
 * entry, so an answer that is still on the way for the old one is recognised and dropped.
 */
import { partitionKey } from '../log-error.ts';
import type { PartitionName } from '../port.ts';

export type Reading = {
  readonly name: PartitionName;
  /** The offset to ask for next. */
  position: number;
  paused: boolean;
  /**
   * The node that leads the partition; undefined until it is found, and again when it has moved.
   */
  leader: number | undefined;
  /** Since when the topic has been unknown to the brokers, in milliseconds since 1970. */
  unknownSinceMs: number | undefined;
};

export class ReadingTable {
  readonly #readings = new Map<string, Reading>();
  #turn = 0;

  assign(name: PartitionName, position: number): void {
    this.#readings.set(partitionKey(name), {
      name,
      position,
      paused: false,
      leader: undefined,
      unknownSinceMs: undefined,
    });
  }

  remove(name: PartitionName): void {
    this.#readings.delete(partitionKey(name));
  }

  find(name: PartitionName): Reading | undefined {
    return this.#readings.get(partitionKey(name));
  }

  /** The owner has the records in [fromOffset, toOffset): only where nothing lies between, what others wrote before is read. */
  skip(name: PartitionName, fromOffset: number, toOffset: number): void {
    const reading = this.find(name);
    if (reading === undefined || reading.position < fromOffset) return;
    reading.position = Math.max(reading.position, toOffset);
  }

  /** Whether this very entry still stands. */
  holds(reading: Reading): boolean {
    return this.#readings.get(partitionKey(reading.name)) === reading;
  }

  get somePaused(): boolean {
    return [...this.#readings.values()].some(({ paused }) => paused);
  }

  homeless(): Reading[] {
    return [...this.#readings.values()].filter(({ leader }) => leader === undefined);
  }

  /**
   * What to fetch from this node now. Each call begins with another partition: a broker fills an
   * answer from the front, so the last ones would starve otherwise.
   */
  readableAt(nodeId: number): Reading[] {
    const all = [...this.#readings.values()];
    const readable = all.filter(({ leader, paused }) => leader === nodeId && !paused);
    this.#turn += 1;
    const first = readable.length === 0 ? 0 : this.#turn % readable.length;
    return [...readable.slice(first), ...readable.slice(0, first)];
  }
}
