import { limits } from '../../../schemas/limits.ts';
import type { PartitionName, Reader } from '../log/port.ts';
import type { HostPorts } from './ports.ts';

/** What is asked of a partition: `log` as it reads itself. */
type Read = Readonly<{
  name: PartitionName;
  position: number;
  halted: boolean;
  log: Readonly<{ unread: number }>;
}>;

type Seen = Readonly<{ position: number; sinceMs: number }>;

/**
 * What a host wrote is acknowledged, and must come back to it. Where it does not, all sessions of the partition wait, and
 * nothing fails: so it is looked for now and then, told, and the partition is read again from where it stands. Each offset
 * is taken once, whatever the reader brings.
 */
export class UnreadWriting {
  private readonly ports: Pick<HostPorts, 'clock' | 'logger'>;
  private readonly seen = new Map<string, Seen>();

  constructor(ports: Pick<HostPorts, 'clock' | 'logger'>) {
    this.ports = ports;
  }

  look(partitions: readonly Read[], reader: Pick<Reader, 'assign'> | undefined): void {
    const nowMs = this.ports.clock.nowMs();
    const waiting = new Set<string>();
    for (const { name, position, halted, log } of partitions) {
      if (halted || log.unread === 0) continue;
      const key = `${name.topic}/${name.partition}`;
      waiting.add(key);
      const before = this.seen.get(key);
      if (before?.position !== position) this.seen.set(key, { position, sinceMs: nowMs });
      else if (nowMs - before.sinceMs >= limits.unreadMsMax) {
        this.seen.set(key, { position, sinceMs: nowMs });
        this.tell(name, position, log.unread);
        reader?.assign(name, position);
      }
    }
    for (const key of this.seen.keys()) if (!waiting.has(key)) this.seen.delete(key);
  }

  private tell(name: PartitionName, position: number, unread: number): void {
    const fields = { ...name, offset: position, records: unread, code: 'OWN_RECORDS_UNREAD' };
    const seconds = limits.unreadMsMax / 1_000;
    this.ports.logger.error(
      fields,
      `records of this host did not come back to it for ${seconds} s: the partition is read again from there`,
    );
  }
}
