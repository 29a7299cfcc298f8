/**
 * The log port over Kafka. The only door to this folder: nothing outside it knows the client
 * library.
 */
import type { ConnectionOptions } from 'node:tls';
import type { SASLOptions } from 'kafkajs';
import { logClosed } from '../log-error.ts';
import type {
  LogPort,
  Membership,
  MembershipHandlers,
  PartitionName,
  Reader,
  ReaderHandlers,
  ReaderOptions,
  TopicSpec,
} from '../port.ts';
import { KafkaAppender } from './append.ts';
import type { KafkaAccess } from './broker-factory.ts';
import { KafkaConnections } from './client.ts';
import { FetchReader } from './fetch-reader.ts';
import { type KafkaLogger, silentLogger } from './kafka-logger.ts';
import { GroupMember } from './membership.ts';
import { KafkaTopics } from './topics.ts';
import { atMost } from './wake.ts';

const CONNECTION_TIMEOUT_MS = 5_000;
const CONNECTION_TIMEOUT_MAX_MS = 10_000;
const REQUEST_TIMEOUT_MS = 15_000;
const POLL_TIMEOUT_MS = 10_000;
const SESSION_TIMEOUT_MS = 10_000;
const CLOSE_MS = 5_000;

export type KafkaLogOptions = Readonly<{
  /** Bootstrap addresses, `host:port`. */
  brokers: readonly string[];
  /** The name that brokers log for this program. */
  clientId: string;
  logger?: KafkaLogger;
  /** How long to try to reach a broker at first, in milliseconds; default 5,000, at most 10,000. */
  connectionTimeoutMs?: number;
  /** After how long without a heartbeat a group takes a member for dead; default 10,000 ms. */
  sessionTimeoutMs?: number;
  tls?: boolean | ConnectionOptions;
  sasl?: SASLOptions;
}>;

/** A log on these brokers. Connects when first used; throws `BROKER_ADDRESS_INVALID` at once. */
export function createKafkaLog(options: KafkaLogOptions): LogPort {
  return new KafkaLog(options);
}

class KafkaLog implements LogPort {
  readonly #options: KafkaLogOptions;
  readonly #appends: KafkaConnections;
  readonly #appender: KafkaAppender;
  readonly #topicConnections: KafkaConnections;
  readonly #topics: KafkaTopics;
  readonly #readers = new Set<Reader>();
  readonly #members = new Set<Membership>();
  #closing: Promise<void> | undefined;

  constructor(options: KafkaLogOptions) {
    this.#options = options;
    this.#appends = this.#connections(REQUEST_TIMEOUT_MS);
    this.#appender = new KafkaAppender(this.#appends);
    this.#topicConnections = this.#connections(REQUEST_TIMEOUT_MS);
    this.#topics = new KafkaTopics(this.#topicConnections);
  }

  append: LogPort['append'] = (partition, records) => this.#appender.append(partition, records);

  async join(
    group: string,
    topics: readonly string[],
    handlers: MembershipHandlers,
  ): Promise<Membership> {
    const connections = await this.#reached(REQUEST_TIMEOUT_MS);
    const sessionTimeoutMs = this.#options.sessionTimeoutMs ?? SESSION_TIMEOUT_MS;
    const logger = this.#options.logger ?? silentLogger;
    const terms = { group, topics, sessionTimeoutMs };
    try {
      for (const topic of topics) await connections.leaders(topic);
    } catch (thrown) {
      connections.close();
      throw thrown;
    }
    const member = new GroupMember({ connections, terms, handlers, logger });
    this.#members.add(member);
    member.start();
    return member;
  }

  async reader(handlers: ReaderHandlers, options: ReaderOptions = {}): Promise<Reader> {
    const connections = await this.#reached(POLL_TIMEOUT_MS);
    const onClosed = (one: Reader): void => {
      this.#readers.delete(one);
    };
    const reader = new FetchReader(connections, handlers, { ...options, onClosed });
    this.#readers.add(reader);
    return reader;
  }

  bounds: LogPort['bounds'] = (topic) => this.#topics.bounds(topic);

  topicId: LogPort['topicId'] = (topic) => this.#topics.id(topic);

  offsetAt: LogPort['offsetAt'] = (partition, timestampMs) =>
    this.#topics.offsetAt(partition, timestampMs);

  async ensureTopics(specs: readonly TopicSpec[]): Promise<void> {
    await this.#topics.ensure(specs);
  }

  trim = (partition: PartitionName, beforeOffset: number): Promise<void> =>
    this.#topics.trim(partition, beforeOffset);

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const readers = [...this.#readers].map((reader) => reader.close());
    const members = [...this.#members].map((member) => member.leave());
    await Promise.all([...readers, ...members, atMost(CLOSE_MS, this.#appender.close())]);
    this.#appends.close();
    this.#topicConnections.close();
  }

  #connections(requestTimeoutMs: number): KafkaConnections {
    const { brokers, clientId, logger, connectionTimeoutMs, tls, sasl } = this.#options;
    const timeoutMs = connectionTimeoutMs ?? CONNECTION_TIMEOUT_MS;
    const access: KafkaAccess = {
      brokers,
      clientId,
      requestTimeoutMs,
      logger: logger ?? silentLogger,
      connectionTimeoutMs: Math.min(timeoutMs, CONNECTION_TIMEOUT_MAX_MS),
      ...(tls === undefined ? {} : { tls }),
      ...(sasl === undefined ? {} : { sasl }),
    };
    return new KafkaConnections(access);
  }

  async #reached(requestTimeoutMs: number): Promise<KafkaConnections> {
    const connections = this.#connections(requestTimeoutMs);
    try {
      await connections.reach();
      if (this.#closing !== undefined) throw logClosed();
      return connections;
    } catch (thrown) {
      connections.close();
      throw thrown;
    }
  }
}
