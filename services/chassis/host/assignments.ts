import { LongreinError, toError } from '../errors.ts';
import type { PartitionName, Reader } from '../log/port.ts';
import { Partition, type PartitionParts } from './partition.ts';
import { whileAway } from './patience.ts';
import type { HostPorts } from './ports.ts';
import type { Watermarks } from './watermarks.ts';

export type AssignmentParts = Readonly<{
  ports: HostPorts;
  watermarks: Watermarks;
  /** What a partition is built of, but for its reading and its end. */
  partsOf(at: PartitionName): Omit<PartitionParts, 'reading' | 'onHalt'>;
}>;

export const nameOf = (at: PartitionName): string => `${at.topic}/${at.partition}`;

/**
 * The partitions of a host: those that the group gave it, and those that it lost and still reads because something of
 * its own is on the way there (DESIGN 3.9).
 */
export class Assignments {
  private readonly partitions = new Map<string, Partition>();
  private readonly opening = new Map<string, Promise<void>>();
  private readonly parts: AssignmentParts;
  /** Partitions that the group gave us; undefined until it said so first. */
  private wanted: ReadonlySet<string> | undefined;
  private reader: Reader | undefined;
  private stopping = false;

  constructor(parts: AssignmentParts) {
    this.parts = parts;
  }

  readFrom(reader: Reader): void {
    this.reader = reader;
  }

  get(at: PartitionName): Partition | undefined {
    return this.partitions.get(nameOf(at));
  }

  values(): readonly Partition[] {
    return [...this.partitions.values()];
  }

  /** Whether all services are owned in all partitions that the group gave us. */
  get ready(): boolean {
    const { wanted } = this;
    if (wanted === undefined || this.opening.size > 0) return false;
    const own = this.values().filter((one) => wanted.has(nameOf(one.name)));
    return own.length === wanted.size && own.every((one) => one.ready);
  }

  /** No partition is opened any more. */
  stop(): void {
    this.stopping = true;
  }

  /** The group says which partitions are ours. */
  assign(partitions: readonly PartitionName[]): void {
    this.wanted = new Set(partitions.map(nameOf));
    for (const partition of this.values()) {
      if (!this.wanted.has(nameOf(partition.name))) partition.standDown();
    }
    for (const at of partitions) {
      const name = nameOf(at);
      if (this.opening.has(name)) continue;
      const wanted = (): boolean => this.wanted?.has(name) === true && !this.stopping;
      const patience = { ports: this.parts.ports, what: `reading of ${name}`, wanted };
      const opened = whileAway(patience, () => this.open(at))
        .catch((thrown: unknown) => this.failed(at, toError(thrown)))
        .finally(() => this.opening.delete(name));
      this.opening.set(name, opened);
    }
  }

  private async open(at: PartitionName): Promise<void> {
    const { ports, watermarks } = this.parts;
    const known = this.get(at);
    if (known?.assigned === true) return;
    await watermarks.current();
    const bounds = (await ports.log.bounds(at.topic)).get(at.partition);
    if (bounds === undefined)
      throw new LongreinError('PARTITION_UNKNOWN', `${nameOf(at)} does not exist`);
    if (!this.wanted?.has(nameOf(at)) || this.reader === undefined) return;
    if (known !== undefined) return known.standUp(bounds.high);
    const reading = {
      pause: (partition: PartitionName) => this.reader?.pause(partition),
      resume: (partition: PartitionName) => this.reader?.resume(partition),
    };
    const onHalt = (partition: PartitionName, error: Error): void => this.failed(partition, error);
    const partition = new Partition(at, { ...this.parts.partsOf(at), reading, onHalt }, bounds);
    this.partitions.set(nameOf(at), partition);
    this.reader.assign(at, partition.position);
    partition.claimWhenReady();
  }

  /** A partition cannot be worked on: the others go on. */
  failed(at: PartitionName, error: Error): void {
    const known = error instanceof LongreinError ? { code: error.code, fix: error.fix } : {};
    const fields = { ...at, ...known, error: error.message };
    this.parts.ports.logger.error(fields, 'partition stopped');
    this.reader?.unassign(at);
  }

  /** Partitions that are not ours any more and have nothing running are read no longer. */
  dropIdle(): void {
    for (const [name, partition] of this.partitions) {
      if (this.wanted?.has(name) || !partition.idle || this.opening.has(name)) continue;
      this.reader?.unassign(partition.name);
      this.partitions.delete(name);
    }
  }

  /** Waits until nothing is queued, running or on the way, but not past the deadline. */
  async untilIdle(deadlineMs: number): Promise<void> {
    const { clock } = this.parts.ports;
    while (clock.nowMs() < deadlineMs) {
      if (this.values().every((partition) => partition.idle)) return;
      await new Promise<void>((resolve) => {
        clock.after(20, resolve);
      });
    }
  }
}
