import { limits } from '../../../schemas/limits.ts';
import { assignPartitions } from '../log/assignment.ts';
import type { PartitionName } from '../log/port.ts';
import type { Heartbeat, Silence } from './presence.ts';

/**
 * What a host reads before the group gives it to it. A group takes its session time-out to find that a member is dead, and
 * the heartbeats of a host fall silent long before: meanwhile its partitions are read and folded by whoever gets them.
 *
 * R1 Nothing is asked for, decided or written: it is a reader like any other until the group says whose the partition is,
 *    and from there on all is as ever, with less left to read (DESIGN 3.1).
 * R2 Each reads what the group would give it, were the silent ones gone: a group of any size reads everything once.
 */

type Group = Readonly<{
  /** Of this instance. */
  incarnation: string;
  topics: readonly string[];
  /** Undefined for a topic that is not known yet. */
  partitionCount(topic: string): number | undefined;
}>;

/** A group has found by then that a member is dead. */
const silentMsMax = 12 * limits.presenceMs;

const servicesOf = ({ services }: Heartbeat): string => [...services].sort().join();

/** Groups order their members by ids that begin with the names of their hosts. */
const memberOf = ({ host, incarnation }: Heartbeat): string => `${host}-${incarnation}`;

/** All that it said it has: what stands still is its own as well. */
function heldBy({ partitions, halted = {} }: Heartbeat): readonly PartitionName[] {
  return [...Object.keys(partitions), ...Object.keys(halted)].map((name) => {
    const at = name.lastIndexOf('/');
    return { topic: name.slice(0, at), partition: Number(name.slice(at + 1)) };
  });
}

/** Partitions of silent members of the group that it would give to this one without them. */
export function expectedBy(
  { incarnation, topics, partitionCount }: Group,
  instances: readonly Silence[],
): readonly PartitionName[] {
  const me = instances.find(({ beat }) => beat.incarnation === incarnation)?.beat;
  if (me === undefined) return [];
  const peers = instances.filter(({ beat }) => servicesOf(beat) === servicesOf(me));
  const silent = peers.filter(
    ({ silentMs }) => silentMs > limits.silenceMs && silentMs <= silentMsMax,
  );
  const orphans = silent.flatMap(({ beat }) => heldBy(beat));
  if (orphans.length === 0) return [];
  const members = peers
    .filter(({ silentMs }) => silentMs <= limits.silenceMs)
    .map(({ beat }) => ({ id: memberOf(beat), topics, owned: heldBy(beat), generation: 0 }));
  const counts = topics.flatMap((topic) => {
    const count = partitionCount(topic);
    return count === undefined ? [] : [[topic, count] as const];
  });
  const mine = assignPartitions(members, new Map(counts)).get(memberOf(me)) ?? [];
  return mine.filter(({ topic, partition }) =>
    orphans.some((one) => one.topic === topic && one.partition === partition),
  );
}
