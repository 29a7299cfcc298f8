/** One partition in memory: records in offset order, of which the oldest may be trimmed. */
import { trimOutOfRange } from '../log-error.ts';
import type { Bounds, LogRecord, OutgoingRecord, PartitionName } from '../port.ts';

export class MemoryPartition {
  readonly #name: PartitionName;
  readonly #records: LogRecord[] = [];
  #low = 0;

  constructor(name: PartitionName) {
    this.#name = name;
  }

  get bounds(): Bounds {
    return { low: this.#low, high: this.#low + this.#records.length };
  }

  /** Appends copies and returns the offset of the first. */
  append(records: readonly OutgoingRecord[], timestampMs: number): number {
    const baseOffset = this.bounds.high;
    const { topic, partition } = this.#name;
    records.forEach(({ key, headers, value }, index) => {
      this.#records.push({
        topic,
        partition,
        offset: baseOffset + index,
        key,
        headers: { ...headers },
        value: value === null ? null : Buffer.from(value),
        timestampMs,
      });
    });
    return baseOffset;
  }

  /** At most this many records from the offset on, which must be within the bounds. */
  read(fromOffset: number, countMax: number): readonly LogRecord[] {
    const start = fromOffset - this.#low;
    return this.#records.slice(start, start + countMax);
  }

  /** See `LogPort.offsetAt`. */
  offsetAt(timestampMs: number): number {
    const found = this.#records.find((record) => record.timestampMs >= timestampMs);
    return found?.offset ?? this.bounds.high;
  }

  /** Throws `OFFSET_OUT_OF_RANGE` above the high offset; below the low one nothing happens. */
  trim(beforeOffset: number): void {
    const { low, high } = this.bounds;
    if (beforeOffset < 0 || beforeOffset > high) throw trimOutOfRange(this.#name, beforeOffset);
    this.#records.splice(0, Math.max(beforeOffset - low, 0));
    this.#low = Math.max(low, beforeOffset);
  }
}
