/**
 * One member's conversation with the coordinator of its group: one request a method, errors as
 * types.
 */
import { InvariantError, LongreinError } from '../../errors.ts';
import type { PartitionName } from '../port.ts';
import type { KafkaConnections } from './client.ts';
import { throwIfFailed } from './failure.ts';
import {
  decodeAssignment,
  encodeAssignments,
  encodeMember,
  PROTOCOL_NAME,
} from './group-protocol.ts';
import type { Answers } from './wire.ts';

const MEMBER_ID_REQUIRED = 79;
const REBALANCE_TIMEOUT_MS = 30_000;
const JOIN_MARGIN_MS = 5_000;

export type GroupTerms = Readonly<{
  group: string;
  topics: readonly string[];
  sessionTimeoutMs: number;
}>;

/** Who the member is at present. An empty id is given one at the next join. */
export type MemberState = Readonly<{
  memberId: string;
  generation: number;
  owned: readonly PartitionName[];
}>;

export class GroupCoordinator {
  readonly #connections: KafkaConnections;
  readonly #terms: GroupTerms;
  #nodeId: number | undefined;
  /** Partitions of each topic when it was last seen. */
  readonly #counts = new Map<string, number>();

  constructor(connections: KafkaConnections, terms: GroupTerms) {
    this.#connections = connections;
    this.#terms = terms;
  }

  /** Finds the coordinator when it is not known. */
  async find(): Promise<number> {
    this.#nodeId ??= await this.#connections.coordinator(this.#terms.group);
    return this.#nodeId;
  }

  /** The group may have another coordinator now. */
  lose(): void {
    this.#nodeId = undefined;
  }

  /** Asks for membership; the answer waits until all members have asked or their time is over. */
  async join(state: MemberState, onMemberId: (memberId: string) => void): Promise<MemberState> {
    let answer = await this.#join(state);
    if (answer.errorCode === MEMBER_ID_REQUIRED) {
      onMemberId(answer.memberId);
      answer = await this.#join({ ...state, memberId: answer.memberId });
    }
    throwIfFailed(answer.errorCode, this.#about);
    onMemberId(answer.memberId);
    const owned = await this.#sync(answer);
    return { memberId: answer.memberId, generation: answer.generationId, owned };
  }

  async heartbeat(state: MemberState): Promise<void> {
    const answer = await this.#ask('Heartbeat', this.#identity(state));
    throwIfFailed(answer.errorCode, this.#about);
  }

  async commit(
    state: MemberState,
    offsets: readonly (PartitionName & { offset: number })[],
  ): Promise<void> {
    const topics = offsets.map(({ topic, partition, offset }) => ({
      topic,
      partitions: [{ partition, offset: String(offset) }],
    }));
    const answer = await this.#ask('OffsetCommit', { ...this.#identity(state), topics });
    for (const { topic, partitions } of answer.responses) {
      for (const { partition, errorCode } of partitions) {
        throwIfFailed(errorCode, `Commit of ${topic}/${partition} by ${this.#about}`);
      }
    }
  }

  async leave(state: MemberState): Promise<void> {
    if (state.memberId === '') return;
    const answer = await this.#ask('LeaveGroup', this.#identity(state));
    throwIfFailed(answer.errorCode, this.#about);
  }

  get #about(): string {
    return `group ${this.#terms.group}`;
  }

  #identity({ memberId, generation }: MemberState): object {
    return { groupId: this.#terms.group, memberId, groupGenerationId: generation };
  }

  #join(state: MemberState): Promise<Answers['JoinGroup']> {
    const { generation, owned } = state;
    const metadata = encodeMember(this.#terms.topics, { generation, owned });
    const rebalanceTimeout = Math.max(REBALANCE_TIMEOUT_MS, this.#terms.sessionTimeoutMs);
    const request = {
      groupId: this.#terms.group,
      memberId: state.memberId,
      sessionTimeout: this.#terms.sessionTimeoutMs,
      rebalanceTimeout,
      protocolType: 'consumer',
      groupProtocols: [{ name: PROTOCOL_NAME, metadata }],
    };
    // The coordinator answers when the members of before have come, or were given up.
    return this.#ask('JoinGroup', request, rebalanceTimeout + JOIN_MARGIN_MS);
  }

  async #sync(joined: Answers['JoinGroup']): Promise<PartitionName[]> {
    const leads = joined.leaderId === joined.memberId;
    const groupAssignment = leads
      ? encodeAssignments(joined.members, await this.#partitionCounts())
      : [];
    const answer = await this.#ask('SyncGroup', {
      groupId: this.#terms.group,
      generationId: joined.generationId,
      memberId: joined.memberId,
      groupAssignment,
    });
    throwIfFailed(answer.errorCode, this.#about);
    return decodeAssignment(answer.memberAssignment);
  }

  async #partitionCounts(): Promise<Map<string, number>> {
    const counts = new Map<string, number>();
    for (const topic of this.#terms.topics) {
      this.#connections.forget(topic);
      counts.set(topic, await this.#partitionCount(topic));
    }
    return counts;
  }

  /** A topic that was deleted must not keep the group from the others: its partitions are given to somebody still. */
  async #partitionCount(topic: string): Promise<number> {
    try {
      const { size } = await this.#connections.leaders(topic);
      this.#counts.set(topic, size);
      return size;
    } catch (thrown) {
      if (!(thrown instanceof LongreinError) || thrown.code !== 'TOPIC_UNKNOWN') throw thrown;
      return this.#counts.get(topic) ?? 0;
    }
  }

  async #ask<Api extends keyof Answers>(
    api: Api,
    args: object,
    withinMs?: number,
  ): Promise<Answers[Api]> {
    if (this.#nodeId === undefined) throw new InvariantError('The coordinator was not looked up.');
    return this.#connections.ask(this.#nodeId, api, args, withinMs);
  }
}
