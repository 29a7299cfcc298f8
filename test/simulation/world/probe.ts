import type { Host } from '../../../services/chassis/host/host.ts';
import type { Partition } from '../../../services/chassis/host/partition.ts';
import { canonical, sha256 } from '../../../services/chassis/protocol/hash.ts';
import type { ServiceEntry } from '../../../services/chassis/protocol/service-fold.ts';
import { addressOf } from '../../../services/chassis/protocol/service-logic.ts';

/** Looks into a host, past what it shows on purpose: what its memory holds is to be compared with the log. */

/** One service's view of one session, as a partition of a host held it at one moment. */
export type SeatSeen = Readonly<{
  service: string;
  session: string;
  /** Of the release that the host runs. */
  behaviour: number;
  state: string;
  causes: readonly string[];
}>;

/** `position`: offset of the first record that was not taken yet. */
export type PartitionSeen = Readonly<{
  topic: string;
  partition: number;
  position: number;
  services: readonly string[];
  owned: readonly string[];
  seats: readonly SeatSeen[];
}>;

/** What two folds must agree on. */
export const stateHash = ({ core, state, outbox }: ServiceEntry): string =>
  sha256(canonical({ core, state, outbox }));

export const partitionsOf = (host: Host): readonly Partition[] => [...host['partitions'].values()];

/** Marks and offsets are written as far as they go now. */
export function commitIn(host: Host): void {
  host['marks'].write(partitionsOf(host), host['membership']).catch(() => undefined);
}

/** As a host does it in a quiet hour: what has moved gets a checkpoint, and what is idle is packed. */
export function checkpointIn(partition: Partition): void {
  partition.checkpoint(Number.POSITIVE_INFINITY);
  partition.packIdle(0);
}

/** Undefined while the partition still reads what was there before it, or stopped. */
export function seenIn(partition: Partition): PartitionSeen | undefined {
  if (!partition.caughtUp || !partition['claimed'] || partition['log'].halted) return undefined;
  const seats: SeatSeen[] = [];
  const table = partition['table'];
  for (const session of table.sessions) {
    for (const [service, seat] of table.get(session)?.seats ?? []) {
      if (!seat.known) continue;
      const causes = seat.entry.causes.map(({ event }) => addressOf(event));
      const { behaviour } = seat.logic;
      seats.push({ service, session, behaviour, state: stateHash(seat.entry), causes });
    }
  }
  return {
    ...partition.name,
    position: partition['log'].expected,
    services: partition['parts'].services.map(({ logic }) => logic.name),
    owned: [...partition.ownership.epochs.keys()],
    seats,
  };
}
