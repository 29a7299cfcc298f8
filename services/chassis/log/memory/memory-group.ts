/**
 * A consumer group in memory. Every change of the members makes a new generation; each member hears
 * of it in a delivery of its own, so a simulation can let one learn later than another, as in a
 * real cluster.
 */
import { assignPartitions } from '../assignment.ts';
import { partitionKey } from '../log-error.ts';
import type { MembershipHandlers, PartitionName } from '../port.ts';
import type { Scheduler } from './scheduler.ts';

export type GroupSeat = Readonly<{
  id: string;
  topics: readonly string[];
  handlers: MembershipHandlers;
  /** False once the process has crashed: it hears nothing more. */
  isAlive(): boolean;
}>;

type Member = GroupSeat & { owned: readonly PartitionName[]; generation: number };

export class MemoryGroup {
  readonly #scheduler: Scheduler;
  readonly #countPartitions: (topics: Iterable<string>) => ReadonlyMap<string, number>;
  readonly #members = new Map<string, Member>();
  readonly #committed = new Map<string, number>();
  #generation = 0;
  #rebalanceDue = false;

  constructor(
    scheduler: Scheduler,
    countPartitions: (topics: Iterable<string>) => ReadonlyMap<string, number>,
  ) {
    this.#scheduler = scheduler;
    this.#countPartitions = countPartitions;
  }

  add(seat: GroupSeat): void {
    this.#members.set(seat.id, { ...seat, owned: [], generation: -1 });
    this.rebalance();
  }

  remove(id: string): void {
    if (this.#members.delete(id)) this.rebalance();
  }

  commit(offsets: readonly (PartitionName & { offset: number })[]): void {
    for (const { topic, partition, offset } of offsets) {
      this.#committed.set(partitionKey({ topic, partition }), offset);
    }
  }

  /** Committed offsets by `topic/partition`, for tests. */
  get committed(): ReadonlyMap<string, number> {
    return this.#committed;
  }

  /** Assigns anew, also without a change; several wishes before it happens are one rebalance. */
  rebalance(): void {
    if (this.#rebalanceDue) return;
    this.#rebalanceDue = true;
    this.#scheduler.schedule(0, () => {
      this.#rebalanceDue = false;
      this.#assign();
    });
  }

  #assign(): void {
    this.#generation += 1;
    const members = [...this.#members.values()];
    const counts = this.#countPartitions(new Set(members.flatMap(({ topics }) => topics)));
    for (const [id, owned] of assignPartitions(members, counts)) {
      const member = this.#members.get(id);
      if (member !== undefined) this.#tell(member, owned);
    }
  }

  #tell(member: Member, owned: readonly PartitionName[]): void {
    const generation = this.#generation;
    member.owned = owned;
    member.generation = generation;
    this.#scheduler.schedule(0, () => {
      const isCurrent = this.#members.get(member.id) === member && member.generation === generation;
      if (isCurrent && member.isAlive()) member.handlers.onAssignment(owned);
    });
  }
}
