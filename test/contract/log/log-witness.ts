/** What a test saw of a log: records, errors and assignments, and waiting for them. */
import { setTimeout as delay } from 'node:timers/promises';
import type {
  LogRecord,
  MembershipHandlers,
  OutgoingRecord,
  PartitionName,
  ReaderHandlers,
} from '../../../services/chassis/log/port.ts';

const STEP_MS = 5;

/** Polls until the condition holds. Fails with `what` after the time. */
export async function eventually(
  what: string,
  holds: () => boolean,
  withinMs = 20_000,
): Promise<void> {
  const until = Date.now() + withinMs;
  while (!holds()) {
    if (Date.now() > until) throw new Error(`not in time: ${what}`);
    await delay(STEP_MS);
  }
}

/** Long enough for a delivery that must not come. */
export async function quiet(): Promise<void> {
  await delay(400);
}

export class ReadWitness implements ReaderHandlers {
  readonly records: LogRecord[] = [];
  readonly deliveries: LogRecord[][] = [];
  readonly errors: { partition: PartitionName; error: Error }[] = [];
  readonly interruptions: Error[] = [];

  onRecords(_partition: PartitionName, records: readonly LogRecord[]): void {
    this.records.push(...records);
    this.deliveries.push([...records]);
  }

  onPartitionError(partition: PartitionName, error: Error): void {
    this.errors.push({ partition, error });
  }

  onInterruption(error: Error): void {
    this.interruptions.push(error);
  }

  of(partition: number): LogRecord[] {
    return this.records.filter((record) => record.partition === partition);
  }

  offsets(partition: number): number[] {
    return this.of(partition).map(({ offset }) => offset);
  }

  async count(expected: number): Promise<void> {
    await eventually(`${expected} records`, () => this.records.length >= expected);
  }
}

export class GroupWitness implements MembershipHandlers {
  readonly assignments: (readonly PartitionName[])[] = [];
  readonly crashes: Error[] = [];

  onAssignment(partitions: readonly PartitionName[]): void {
    this.assignments.push(partitions);
  }

  onCrash(error: Error): void {
    this.crashes.push(error);
  }

  /** `topic/partition` of the latest assignment, sorted. */
  get held(): string[] {
    const latest = this.assignments.at(-1) ?? [];
    return latest.map(({ topic, partition }) => `${topic}/${partition}`).sort();
  }

  async holds(count: number): Promise<void> {
    await eventually(`${count} partitions`, () => this.held.length === count);
  }
}

export function record(value: string, headers: Record<string, string> = {}): OutgoingRecord {
  return { key: 'key', headers, value: Buffer.from(value) };
}

export function numbered(count: number, from = 0): OutgoingRecord[] {
  return Array.from({ length: count }, (_, index) => record(String(from + index)));
}

export function text({ value }: Pick<LogRecord, 'value'>): string | null {
  return value === null ? null : Buffer.from(value).toString('utf8');
}

/** 0, 1, 2 … */
export function upTo(count: number, from = 0): number[] {
  return Array.from({ length: count }, (_, index) => from + index);
}
