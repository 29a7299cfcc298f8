import type { LongreinError } from '../errors.ts';
import type { PartitionName, Reader } from '../log/port.ts';
import type { Turn } from './lane-turns.ts';
import type { Outlet } from './outlet.ts';
import type { HostIdentity } from './ownership.ts';
import type { PartitionWatch } from './partition-watch.ts';
import type { HostedService, HostPorts } from './ports.ts';
import type { Presence } from './presence.ts';
import type { Watermarks } from './watermarks.ts';
import type { PartitionWriter } from './writer.ts';

/** What a partition is built of. */
export type PartitionParts = Readonly<{
  ports: HostPorts;
  identity: HostIdentity;
  services: readonly HostedService[];
  presence: Presence;
  watermarks: Watermarks;
  outlet: Outlet;
  writer: PartitionWriter;
  watch: PartitionWatch;
  /** The reader that feeds this partition. */
  reading: Pick<Reader, 'pause' | 'resume' | 'skip'>;
  /** Asked before a piece of work begins. */
  turn?: Turn;
  onHalt: (partition: PartitionName, error: LongreinError) => void;
}>;
