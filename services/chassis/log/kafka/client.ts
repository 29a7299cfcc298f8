/**
 * Connections to the brokers of one cluster, and what they say of topics: who leads which
 * partition, which broker coordinates a group. One instance serves one purpose, so that long polls,
 * appends and heartbeats never wait for each other. A broker that fails is forgotten and connected
 * anew; nothing is retried here except by trying the other known addresses.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { toError } from '../../errors.ts';
import { logClosed, partitionKey, topicUnknown } from '../log-error.ts';
import type { PartitionName } from '../port.ts';
import {
  type Address,
  createBrokerFactory,
  dropBroker,
  type KafkaAccess,
  parseAddress,
} from './broker-factory.ts';
import {
  brokerAnswerError,
  brokerSilent,
  brokerUnknown,
  brokerUnreachable,
  connectionLost,
  isAuthenticationFailure,
  throwIfFailed,
} from './failure.ts';
import type { WireBroker } from './internals.ts';
import { RequestsOnTheWay } from './requests.ts';
import { atMost } from './wake.ts';
import { type Answers, ask } from './wire.ts';

const UNKNOWN_TOPIC = 3;
const LEADER_NOT_AVAILABLE = 5;
const NO_LEADER = -1;
const REACH_PAUSE_MS = 200;

export class KafkaConnections {
  readonly #access: KafkaAccess;
  readonly #make: (address: Address) => WireBroker;
  readonly #seeds: readonly Address[];
  readonly #addresses = new Map<number, Address>();
  readonly #brokers = new Map<string, WireBroker>();
  readonly #ready = new WeakSet<WireBroker>();
  readonly #requests: RequestsOnTheWay;
  readonly #leaders = new Map<string, ReadonlyMap<number, number>>();
  readonly #lookups = new Map<string, Promise<ReadonlyMap<number, number>>>();
  #closed = false;

  constructor(access: KafkaAccess) {
    this.#seeds = access.brokers.map(parseAddress);
    this.#access = access;
    this.#requests = new RequestsOnTheWay(access.requestTimeoutMs);
    this.#make = createBrokerFactory(access);
  }

  /** Waits until some broker answers. Throws `BROKER_UNREACHABLE` after `connectionTimeoutMs`. */
  async reach(): Promise<void> {
    const until = Date.now() + this.#access.connectionTimeoutMs;
    for (;;) {
      try {
        await Promise.any(this.#seeds.map((seed) => this.#connect(seed)));
        return;
      } catch (thrown) {
        const cause = firstCause(thrown);
        if (Date.now() + REACH_PAUSE_MS > until || this.#closed || isAuthenticationFailure(cause)) {
          throw brokerUnreachable(this.#access.brokers, cause);
        }
        await delay(REACH_PAUSE_MS);
      }
    }
  }

  /** Partition to node id (-1: no leader now), from memory where known. Throws `TOPIC_UNKNOWN`. */
  leaders(topic: string): Promise<ReadonlyMap<number, number>> {
    const known = this.#leaders.get(topic);
    if (known !== undefined) return Promise.resolve(known);
    const running = this.#lookups.get(topic);
    if (running !== undefined) return running;
    const lookup = this.#lookUp(topic).finally(() => this.#lookups.delete(topic));
    this.#lookups.set(topic, lookup);
    return lookup;
  }

  /**
   * The node that leads this partition. Throws when the topic or partition is unknown or
   * leaderless.
   */
  async leaderOf({ topic, partition }: PartitionName): Promise<number> {
    const leader = (await this.leaders(topic)).get(partition);
    if (leader !== undefined && leader !== NO_LEADER) return leader;
    this.forget(topic);
    const code = leader === undefined ? UNKNOWN_TOPIC : LEADER_NOT_AVAILABLE;
    throw brokerAnswerError(code, `Partition ${partitionKey({ topic, partition })}`);
  }

  /** Makes the next look at this topic ask the brokers again. */
  forget(topic: string): void {
    this.#leaders.delete(topic);
  }

  /** Sends a request to this node. Throws a retryable LongreinError when it cannot be reached. */
  ask<Api extends keyof Answers>(
    nodeId: number,
    api: Api,
    args: object,
    withinMs?: number,
  ): Promise<Answers[Api]> {
    return this.use(nodeId, (broker) => ask(broker, api, args), withinMs);
  }

  /** Works with the connected broker; when the work fails or takes too long, its connections are dropped. */
  async use<T>(
    nodeId: number,
    work: (broker: WireBroker) => Promise<T>,
    withinMs?: number,
  ): Promise<T> {
    const address = this.#addresses.get(nodeId);
    if (address === undefined) throw brokerUnknown(nodeId);
    let broker: WireBroker | undefined;
    try {
      broker = await this.#connect(address);
      return await this.#requests.track(broker, work, withinMs);
    } catch (thrown) {
      if (broker === undefined) throw brokerUnreachable([keyOf(address)], thrown);
      this.#drop(broker, thrown);
      throw connectionLost(keyOf(address), thrown);
    }
  }

  /**
   * What the brokers say of these topics (at least one); errors of a topic are left in the answer.
   */
  async metadata(topics: readonly string[]): Promise<Answers['Metadata']> {
    const answer = await this.#askAny('Metadata', { topics, allowAutoTopicCreation: false });
    for (const { nodeId, host, port } of answer.brokers)
      this.#addresses.set(nodeId, { host, port });
    return answer;
  }

  /** The node that coordinates this group. */
  async coordinator(group: string): Promise<number> {
    const answer = await this.#askAny('GroupCoordinator', { groupId: group });
    throwIfFailed(answer.errorCode, `Group ${group}`);
    const { nodeId, host, port } = answer.coordinator;
    this.#addresses.set(nodeId, { host, port });
    return nodeId;
  }

  /** Ends a broker whose connection cannot be trusted any more; the next use connects anew. */
  #drop(broker: WireBroker, reason: unknown): void {
    for (const [address, known] of this.#brokers) {
      if (known === broker) this.#brokers.delete(address);
    }
    dropBroker(broker, toError(reason));
    this.#requests.fail(broker, toError(reason));
  }

  /** Ends the connection to this node with all that waits on it; the next use connects anew. */
  cut(nodeId: number): void {
    const address = this.#addresses.get(nodeId);
    const broker = address === undefined ? undefined : this.#brokers.get(keyOf(address));
    if (broker !== undefined) this.#drop(broker, new Error('the wait was interrupted'));
  }

  close(): void {
    this.#closed = true;
    const reason = logClosed();
    for (const broker of this.#brokers.values()) this.#drop(broker, reason);
  }

  async #lookUp(topic: string): Promise<ReadonlyMap<number, number>> {
    const answer = await this.metadata([topic]);
    const found = answer.topicMetadata.find((entry) => entry.topic === topic);
    if (found === undefined || found.topicErrorCode === UNKNOWN_TOPIC) throw topicUnknown(topic);
    throwIfFailed(found.topicErrorCode, `Topic ${topic}`);
    const leaders = new Map(found.partitionMetadata.map((p) => [p.partitionId, p.leader]));
    this.#leaders.set(topic, leaders);
    return leaders;
  }

  async #askAny<Api extends keyof Answers>(api: Api, args: object): Promise<Answers[Api]> {
    let failure: unknown;
    for (const address of this.#candidates()) {
      let broker: WireBroker | undefined;
      try {
        broker = await this.#connect(address);
        return await this.#requests.track(broker, (one) => ask(one, api, args));
      } catch (thrown) {
        failure = thrown;
        if (broker !== undefined) this.#drop(broker, thrown);
      }
    }
    throw brokerUnreachable(this.#access.brokers, failure);
  }

  /** Connected brokers first, then every other address that is known, then where we began. */
  #candidates(): Address[] {
    const known = [...this.#addresses.values(), ...this.#seeds];
    const unique = new Map(known.map((address) => [keyOf(address), address]));
    const rank = (key: string): number => (this.#brokers.get(key)?.isConnected() ? 0 : 1);
    return [...unique].sort(([a], [b]) => rank(a) - rank(b)).map(([, address]) => address);
  }

  async #connect(address: Address): Promise<WireBroker> {
    if (this.#closed) throw logClosed();
    const key = keyOf(address);
    const broker = this.#brokers.get(key) ?? this.#make(address);
    this.#brokers.set(key, broker);
    try {
      // A broker is connected some time before it can be asked anything.
      if (!this.#ready.has(broker) || !broker.isConnected()) {
        await before(this.#access.connectionTimeoutMs, broker.connect());
        this.#ready.add(broker);
      }
      return broker;
    } catch (thrown) {
      this.#drop(broker, thrown);
      throw thrown;
    }
  }
}

function keyOf({ host, port }: Address): string {
  return `${host}:${port}`;
}

/** A broker that accepts the connection and then says nothing must not hold us up. */
async function before(timeoutMs: number, work: Promise<unknown>): Promise<void> {
  let inTime = false;
  const done = work.then(() => {
    inTime = true;
  });
  await Promise.race([done, atMost(timeoutMs, done)]);
  if (!inTime) throw brokerSilent(timeoutMs);
}

function firstCause(thrown: unknown): unknown {
  if (!(thrown instanceof AggregateError)) return thrown;
  const errors: unknown[] = thrown.errors;
  return errors.find(isAuthenticationFailure) ?? errors[0];
}
