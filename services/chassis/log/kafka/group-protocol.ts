/**
 * What members of a group tell each other through the broker: what they hold, and who gets what.
 */
import kafkajs from 'kafkajs';
import { assignPartitions, type GroupCandidate } from '../assignment.ts';
import type { PartitionName } from '../port.ts';

const { MemberAssignment, MemberMetadata } = kafkajs.AssignerProtocol;
const VERSION = 0;

/** The name of the way to assign: all members of a group must support the same. */
export const PROTOCOL_NAME = 'longrein-sticky';

type Holding = Readonly<{ generation: number; owned: readonly PartitionName[] }>;

export function encodeMember(topics: readonly string[], holding: Holding): Buffer {
  const userData = Buffer.from(JSON.stringify(holding));
  return MemberMetadata.encode({ version: VERSION, topics: [...topics], userData });
}

/** What the leader sends: one entry per member, also for those that get nothing. */
export function encodeAssignments(
  members: readonly { memberId: string; memberMetadata: Buffer }[],
  partitionCounts: ReadonlyMap<string, number>,
): { memberId: string; memberAssignment: Buffer }[] {
  const candidates = members.map(({ memberId, memberMetadata }) =>
    decodeMember(memberId, memberMetadata),
  );
  return [...assignPartitions(candidates, partitionCounts)].map(([memberId, partitions]) => ({
    memberId,
    memberAssignment: encodeAssignment(partitions),
  }));
}

export function decodeAssignment(bytes: Buffer): PartitionName[] {
  const decoded = bytes.length === 0 ? null : MemberAssignment.decode(bytes);
  const byTopic = Object.entries(decoded?.assignment ?? {});
  return byTopic.flatMap(([topic, partitions]) =>
    partitions.map((partition) => ({ topic, partition })),
  );
}

function encodeAssignment(partitions: readonly PartitionName[]): Buffer {
  const assignment: Record<string, number[]> = {};
  for (const { topic, partition } of partitions) {
    assignment[topic] = [...(assignment[topic] ?? []), partition];
  }
  return MemberAssignment.encode({ version: VERSION, assignment, userData: Buffer.alloc(0) });
}

function decodeMember(id: string, bytes: Buffer): GroupCandidate {
  const decoded = MemberMetadata.decode(bytes);
  return { id, topics: decoded?.topics ?? [], ...decodeHolding(decoded?.userData) };
}

/** A foreign member says nothing that we understand: it simply holds nothing. */
function decodeHolding(userData: Buffer | undefined): Holding {
  const none: Holding = { generation: -1, owned: [] };
  if (userData === undefined || userData === null || userData.length === 0) return none;
  try {
    const parsed: Partial<Holding> = JSON.parse(userData.toString('utf8'));
    const { generation, owned } = parsed;
    return typeof generation === 'number' && Array.isArray(owned) ? { generation, owned } : none;
  } catch {
    return none;
  }
}
