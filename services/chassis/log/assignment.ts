/**
 * Which member of a group gets which partition. Pure and deterministic: the same members always get
 * the same answer. Every topic is spread evenly by itself (so that no lane lies on one host), and a
 * partition stays where it was as long as that does not unbalance its topic.
 */
import type { PartitionName } from './port.ts';

/**
 * A member that asks for partitions. `owned` is what it held in `generation`, which may be
 * outdated.
 */
export type GroupCandidate = Readonly<{
  id: string;
  topics: readonly string[];
  owned: readonly PartitionName[];
  generation: number;
}>;

type Seat = { readonly id: string; kept: number[]; quota: number };

/** The partitions of every member, by member id; a member without any has an empty list. */
export function assignPartitions(
  members: readonly GroupCandidate[],
  partitionCounts: ReadonlyMap<string, number>,
): ReadonlyMap<string, readonly PartitionName[]> {
  const held = new Map<string, PartitionName[]>(members.map(({ id }) => [id, []]));
  for (const topic of [...partitionCounts.keys()].sort()) {
    const candidates = members.filter(({ topics }) => topics.includes(topic));
    if (candidates.length === 0) continue;
    for (const seat of seatsOf(topic, candidates, { held, partitionCounts })) {
      const partitions = seat.kept.sort((a, b) => a - b).map((partition) => ({ topic, partition }));
      held.get(seat.id)?.push(...partitions);
    }
  }
  return held;
}

function seatsOf(
  topic: string,
  candidates: readonly GroupCandidate[],
  known: {
    held: ReadonlyMap<string, readonly PartitionName[]>;
    partitionCounts: ReadonlyMap<string, number>;
  },
): Seat[] {
  const count = known.partitionCounts.get(topic) ?? 0;
  const free = new Set(Array.from({ length: count }, (_, partition) => partition));
  const seats = claims(topic, candidates, free);
  giveQuotas(seats, count, known.held);
  for (const seat of seats) {
    for (const partition of seat.kept.splice(seat.quota)) free.add(partition);
  }
  const waiting = [...free].sort((a, b) => a - b);
  for (const seat of seats) seat.kept.push(...waiting.splice(0, seat.quota - seat.kept.length));
  return seats;
}

/**
 * Takes what members held out of `free`; of two that claim the same, the later generation is right.
 */
function claims(topic: string, candidates: readonly GroupCandidate[], free: Set<number>): Seat[] {
  const byGeneration = [...candidates].sort(
    (a, b) => b.generation - a.generation || compareText(a.id, b.id),
  );
  const seats = byGeneration.map(({ id, owned }) => {
    const mine = owned.filter((name) => name.topic === topic && free.delete(name.partition));
    return { id, kept: mine.map(({ partition }) => partition).sort((a, b) => a - b), quota: 0 };
  });
  return seats.sort((a, b) => compareText(a.id, b.id));
}

/**
 * The odd partitions go to those that already hold more of this topic, else to the least loaded.
 */
function giveQuotas(
  seats: readonly Seat[],
  count: number,
  held: ReadonlyMap<string, readonly PartitionName[]>,
): void {
  const floor = Math.floor(count / seats.length);
  const load = (seat: Seat): number => held.get(seat.id)?.length ?? 0;
  const ranked = [...seats].sort(
    (a, b) => b.kept.length - a.kept.length || load(a) - load(b) || compareText(a.id, b.id),
  );
  ranked.forEach((seat, rank) => {
    seat.quota = floor + (rank < count % seats.length ? 1 : 0);
  });
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
