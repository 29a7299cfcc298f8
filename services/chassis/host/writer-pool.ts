import type { PartitionName } from '../log/port.ts';
import type { PlacedRecord } from '../protocol/record.ts';
import type { HostPorts } from './ports.ts';
import { PartitionWriter } from './writer.ts';

/** One writer per partition, made when it is first needed; shared by turns, outcomes, relays and messages. */
export class WriterPool {
  private readonly writers = new Map<string, PartitionWriter>();
  private readonly ports: HostPorts;
  private readonly onAppended: (at: PartitionName, records: readonly PlacedRecord[]) => void;

  constructor(
    ports: HostPorts,
    onAppended: (at: PartitionName, records: readonly PlacedRecord[]) => void,
  ) {
    this.ports = ports;
    this.onAppended = onAppended;
  }

  of(at: PartitionName): PartitionWriter {
    const name = `${at.topic}/${at.partition}`;
    const known = this.writers.get(name);
    if (known !== undefined) return known;
    const onAppended = (records: readonly PlacedRecord[]): void => this.onAppended(at, records);
    const writer = new PartitionWriter(at, this.ports, { onAppended });
    this.writers.set(name, writer);
    return writer;
  }

  close(): void {
    for (const writer of this.writers.values()) writer.close();
  }
}
