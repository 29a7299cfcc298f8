/**
 * Membership in a consumer group, for the assignment of partitions and nothing else. Our own, over
 * kafkajs's requests: its consumer ties heartbeats to fetching, and ends itself silently or for
 * good on errors that are ours to judge. A lost connection is not a lost membership: heartbeats go
 * on with the same generation as soon as the coordinator answers, and only its refusal leads to
 * another join.
 */
import { InvariantError, LongreinError, toError } from '../../errors.ts';
import type { Membership, MembershipHandlers, PartitionName } from '../port.ts';
import type { KafkaConnections } from './client.ts';
import { GroupCoordinator, type GroupTerms, type MemberState } from './coordinator.ts';
import { answerType, isAuthenticationFailure } from './failure.ts';
import type { KafkaLogger } from './kafka-logger.ts';
import { atMost, Backoff, Wake } from './wake.ts';

const LEAVE_MS = 10_000;
const HEARTBEAT_MIN_MS = 1_000;
const HEARTBEAT_MAX_MS = 3_000;

const REJOIN: ReadonlySet<string> = new Set([
  'REBALANCE_IN_PROGRESS',
  'ILLEGAL_GENERATION',
  'UNKNOWN_MEMBER_ID',
]);

/** Nothing that waiting would cure. */
const FATAL: ReadonlySet<string> = new Set([
  'GROUP_AUTHORIZATION_FAILED',
  'TOPIC_AUTHORIZATION_FAILED',
  'INVALID_GROUP_ID',
  'INVALID_SESSION_TIMEOUT',
  'INCONSISTENT_GROUP_PROTOCOL',
  'GROUP_MAX_SIZE_REACHED',
  'FENCED_INSTANCE_ID',
  'UNSUPPORTED_VERSION',
]);

export type MemberOptions = Readonly<{
  connections: KafkaConnections;
  terms: GroupTerms;
  handlers: MembershipHandlers;
  logger: KafkaLogger;
}>;

export class GroupMember implements Membership {
  readonly #options: MemberOptions;
  readonly #coordinator: GroupCoordinator;
  readonly #heartbeatMs: number;
  readonly #wake = new Wake();
  readonly #backoff = new Backoff(100, 2_000);
  #state: MemberState = { memberId: '', generation: -1, owned: [] };
  #ended: Promise<void> = Promise.resolve();
  #leaving: Promise<void> | undefined;
  #stopped = false;

  constructor(options: MemberOptions) {
    this.#options = options;
    this.#coordinator = new GroupCoordinator(options.connections, options.terms);
    const tenth = options.terms.sessionTimeoutMs / 10;
    this.#heartbeatMs = Math.min(Math.max(tenth, HEARTBEAT_MIN_MS), HEARTBEAT_MAX_MS);
  }

  /** Begins to join; the assignment comes later. The brokers have been reached before. */
  start(): void {
    this.#ended = this.#run();
  }

  async commit(offsets: readonly (PartitionName & { offset: number })[]): Promise<void> {
    if (offsets.length === 0) return;
    try {
      await this.#coordinator.find();
      await this.#coordinator.commit(this.#state, offsets);
    } catch (thrown) {
      const { message } = toError(thrown);
      const group = this.#options.terms.group;
      throw new LongreinError('COMMIT_FAILED', `Offsets of ${group} not committed: ${message}`, {
        retryable: true,
        cause: thrown,
      });
    }
  }

  leave(): Promise<void> {
    this.#leaving ??= this.#leave();
    return this.#leaving;
  }

  async #leave(): Promise<void> {
    this.#stopped = true;
    this.#wake.ring();
    await atMost(
      LEAVE_MS,
      this.#ended.then(() => this.#sayGoodbye()),
    );
    this.#options.connections.close();
  }

  async #sayGoodbye(): Promise<void> {
    try {
      await this.#coordinator.find();
      await this.#coordinator.leave(this.#state);
    } catch (thrown) {
      // The broker finds out by itself after the session time-out.
      this.#warn('leaving the group failed', thrown);
    }
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      try {
        await this.#joinOnce();
        await this.#keepAlive();
      } catch (thrown) {
        await this.#recover(thrown);
      }
    }
  }

  async #joinOnce(): Promise<void> {
    await this.#coordinator.find();
    this.#state = await this.#coordinator.join(this.#state, (memberId) => {
      this.#state = { ...this.#state, memberId };
    });
    this.#backoff.reset();
    if (!this.#stopped) this.#announce();
  }

  #announce(): void {
    const { group } = this.#options.terms;
    const { owned, generation } = this.#state;
    this.#options.logger.info({ group, generation, partitions: owned.length }, 'joined the group');
    try {
      this.#options.handlers.onAssignment(owned);
    } catch (thrown) {
      this.#crash(new InvariantError(`onAssignment threw: ${toError(thrown).message}`, thrown));
    }
  }

  /**
   * Sends heartbeats until the group wants another join, which is thrown as the broker's answer.
   */
  async #keepAlive(): Promise<void> {
    while (!this.#stopped) {
      await this.#wake.wait(this.#heartbeatMs);
      if (!this.#stopped) await this.#beat();
    }
  }

  async #beat(): Promise<void> {
    try {
      await this.#coordinator.find();
      await this.#coordinator.heartbeat(this.#state);
      this.#backoff.reset();
    } catch (thrown) {
      const type = answerType(thrown) ?? '';
      if (REJOIN.has(type) || isFatal(thrown)) throw thrown;
      this.#coordinator.lose();
      this.#warn('heartbeat failed', thrown);
      await this.#wake.wait(this.#backoff.nextMs());
    }
  }

  async #recover(thrown: unknown): Promise<void> {
    if (this.#stopped) return;
    if (isFatal(thrown)) {
      this.#crash(toError(thrown));
      return;
    }
    const type = answerType(thrown) ?? '';
    if (type === 'UNKNOWN_MEMBER_ID') this.#state = { ...this.#state, memberId: '' };
    if (type === 'REBALANCE_IN_PROGRESS') return;
    if (!REJOIN.has(type)) this.#coordinator.lose();
    this.#warn('the group has to be joined again', thrown);
    await this.#wake.wait(this.#backoff.nextMs());
  }

  #crash(error: Error): void {
    this.#stopped = true;
    this.#options.logger.error({ group: this.#options.terms.group, error }, 'membership ended');
    this.#options.handlers.onCrash(error);
    // So that the others need not wait for the session time-out.
    void this.leave();
  }

  #warn(what: string, thrown: unknown): void {
    const { group } = this.#options.terms;
    this.#options.logger.warn({ group, reason: toError(thrown).message }, what);
  }
}

function isFatal(thrown: unknown): boolean {
  if (thrown instanceof InvariantError || thrown instanceof TypeError) return true;
  return isAuthenticationFailure(thrown) || FATAL.has(answerType(thrown) ?? '');
}
