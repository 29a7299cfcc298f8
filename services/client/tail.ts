/** The ends of partitions, read once for all that follow something there. */
import { toError } from '../chassis/errors.ts';
import type { LogPort, LogRecord, PartitionName, Reader } from '../chassis/log/port.ts';
import { boundsOf } from './publish.ts';

export type Listener = Readonly<{
  take(record: LogRecord): void;
  fail(error: Error): void;
}>;

/** From `from` on nothing is missed. */
export type Listening = Readonly<{ from: number; stop(): void }>;

type Line = {
  readonly at: PartitionName;
  readonly listeners: Set<Listener>;
  /** The offset that comes next; settles when reading began. */
  next: number;
  readonly begun: Promise<void>;
  lingering: NodeJS.Timeout | undefined;
};

/** A partition is read on for this long after its last listener left: the next goal comes soon, or never. */
const lingerMs = 30_000;

const nameOf = ({ topic, partition }: PartitionName): string => `${topic}/${partition}`;

export class Tail {
  private readonly log: LogPort;
  private readonly lines = new Map<string, Line>();
  private reader: Promise<Reader> | undefined;

  constructor(log: LogPort) {
    this.log = log;
  }

  /** Every record of the partition that is written from now on, and perhaps a few before it. */
  async listen(at: PartitionName, listener: Listener): Promise<Listening> {
    const name = nameOf(at);
    const line = this.lines.get(name) ?? this.open(at);
    clearTimeout(line.lingering);
    line.listeners.add(listener);
    try {
      await line.begun;
    } catch (thrown) {
      this.lines.delete(name);
      throw thrown;
    }
    return { from: line.next, stop: () => this.leave(line, listener) };
  }

  private open(at: PartitionName): Line {
    const line: Line = {
      at,
      listeners: new Set(),
      next: 0,
      lingering: undefined,
      begun: this.begin(at).then((high) => {
        line.next = high;
      }),
    };
    this.lines.set(nameOf(at), line);
    return line;
  }

  private async begin(at: PartitionName): Promise<number> {
    this.reader ??= this.connect();
    const [reader, bounds] = await Promise.all([this.reader, boundsOf(this.log, at.topic)]);
    const high = bounds.get(at.partition)?.high ?? 0;
    reader.assign(at, high);
    return high;
  }

  private connect(): Promise<Reader> {
    const handlers = {
      onRecords: (at: PartitionName, records: readonly LogRecord[]) => this.deliver(at, records),
      onPartitionError: (at: PartitionName, error: Error) => this.fail(at, toError(error)),
      onInterruption: () => undefined,
    };
    const reader = this.log.reader(handlers, { isPrompt: true });
    // The next one tries again.
    reader.catch(() => {
      this.reader = undefined;
    });
    return reader;
  }

  private deliver(at: PartitionName, records: readonly LogRecord[]): void {
    const line = this.lines.get(nameOf(at));
    if (line === undefined) return;
    for (const record of records) {
      line.next = record.offset + 1;
      for (const listener of line.listeners) listener.take(record);
    }
  }

  private fail(at: PartitionName, error: Error): void {
    const line = this.lines.get(nameOf(at));
    this.lines.delete(nameOf(at));
    for (const listener of line?.listeners ?? []) listener.fail(error);
  }

  private leave(line: Line, listener: Listener): void {
    line.listeners.delete(listener);
    if (line.listeners.size > 0 || this.lines.get(nameOf(line.at)) !== line) return;
    line.lingering = setTimeout(() => {
      this.lines.delete(nameOf(line.at));
      void this.reader?.then((reader) => reader.unassign(line.at));
    }, lingerMs);
    line.lingering.unref();
  }

  async close(): Promise<void> {
    for (const { lingering } of this.lines.values()) clearTimeout(lingering);
    this.lines.clear();
    const reader = await this.reader?.catch(() => undefined);
    await reader?.close();
  }
}
