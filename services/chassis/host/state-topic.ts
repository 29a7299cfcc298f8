import type { LogRecord, Reader } from '../log/port.ts';
import type { HostPorts } from './ports.ts';

export type StateTopicParts = Readonly<{
  ports: Pick<HostPorts, 'log' | 'logger'>;
  topic: string;
  /** Records in the order of the log. Must not throw. */
  onRecord(record: LogRecord): void;
}>;

/** Follows a compacted topic of one partition from its start. */
export class StateTopic {
  private readonly parts: StateTopicParts;
  private reader: Reader | undefined;
  private position = 0;
  private waiting: { offset: number; resolve: () => void }[] = [];

  constructor(parts: StateTopicParts) {
    this.parts = parts;
  }

  async start(): Promise<void> {
    const { ports, topic } = this.parts;
    const bounds = (await ports.log.bounds(topic)).get(0);
    this.position = bounds?.low ?? 0;
    this.reader = await ports.log.reader({
      onRecords: (_partition, records) => this.take(records),
      onPartitionError: (_partition, error) =>
        ports.logger.error({ topic, error: error.message }, 'state topic cannot be read'),
      onInterruption: () => undefined,
    });
    this.reader.assign({ topic, partition: 0 }, this.position);
  }

  /** Waits until all that is in the topic now was read. */
  async current(): Promise<void> {
    const { ports, topic } = this.parts;
    const high = (await ports.log.bounds(topic)).get(0)?.high ?? 0;
    if (this.position >= high) return;
    await new Promise<void>((resolve) => {
      this.waiting.push({ offset: high, resolve });
    });
  }

  async stop(): Promise<void> {
    await this.reader?.close();
  }

  private take(records: readonly LogRecord[]): void {
    for (const record of records) {
      this.position = record.offset + 1;
      this.parts.onRecord(record);
    }
    const reached = this.waiting.filter(({ offset }) => offset <= this.position);
    this.waiting = this.waiting.filter(({ offset }) => offset > this.position);
    for (const { resolve } of reached) resolve();
  }
}
