/** Topics as a whole: creating what is missing, bounds, deleting what is no longer needed. */
import { LongreinError } from '../../errors.ts';
import { partitionKey, refuseOtherCount, topicUnknown, trimOutOfRange } from '../log-error.ts';
import type { Bounds, PartitionName, TopicSpec } from '../port.ts';
import type { KafkaConnections } from './client.ts';
import { answerType, brokerAnswerError, throwIfFailed } from './failure.ts';
import { askTopicId } from './topic-id.ts';
import { isServed, partitionCount } from './topic-metadata.ts';
import { Wake } from './wake.ts';
import type { Answers } from './wire.ts';

const EARLIEST = '-2';
const LATEST = '-1';
const NO_OFFSET = -1;
const UNKNOWN_TOPIC = 3;
const LEADER_NOT_AVAILABLE = 5;
const OFFSET_OUT_OF_RANGE = 1;
const TOPIC_ALREADY_EXISTS = 36;
const BROKER_DEFAULT = -1;
const REPLICA_OF_NONE = -1;
const CREATE_TIMEOUT_MS = 10_000;
const LEADERS_TIMEOUT_MS = 10_000;
const LEADERS_PAUSE_MS = 50;
const BETWEEN_LEADERS: ReadonlySet<string> = new Set([
  'NOT_LEADER_FOR_PARTITION',
  'LEADER_NOT_AVAILABLE',
  'FENCED_LEADER_EPOCH',
  'UNKNOWN_LEADER_EPOCH',
  'OFFSET_NOT_AVAILABLE',
]);

export class KafkaTopics {
  readonly #connections: KafkaConnections;

  constructor(connections: KafkaConnections) {
    this.#connections = connections;
  }

  /** See `LogPort.ensureTopics`. The replication factor is the broker's default. */
  async ensure(specs: readonly TopicSpec[]): Promise<void> {
    if (specs.length === 0) return;
    await this.#connections.reach();
    const answer = await this.#metadata(specs);
    const missing = specs.filter((spec) => partitionCount(answer, spec.name) === undefined);
    if (missing.length > 0) await this.#create(missing, answer.controllerId);
    await this.#awaitLeaders(specs);
    // A broker is named as leader some time before it serves the partition.
    await Promise.all(specs.map(({ name }) => this.bounds(name)));
  }

  /** See `LogPort.bounds`. */
  async bounds(topic: string): Promise<ReadonlyMap<number, Bounds>> {
    return this.#routed(topic, async () => {
      const leaders = await this.#connections.leaders(topic);
      const nodes = new Map<number, number[]>();
      for (const [partition, leader] of leaders) {
        if (leader < 0)
          throw brokerAnswerError(LEADER_NOT_AVAILABLE, `Partition ${topic}/${partition}`);
        nodes.set(leader, [...(nodes.get(leader) ?? []), partition]);
      }
      const parts = await Promise.all(
        [...nodes].map(([id, list]) => this.#boundsAt(id, topic, list)),
      );
      return new Map(parts.flat().sort(([a], [b]) => a - b));
    });
  }

  /** See `LogPort.topicId`. */
  async id(topic: string): Promise<string | undefined> {
    const [nodeId] = new Set((await this.#connections.leaders(topic)).values());
    if (nodeId === undefined || nodeId < 0)
      throw brokerAnswerError(LEADER_NOT_AVAILABLE, `Topic ${topic}`);
    const found = await this.#connections.use(nodeId, (broker) => askTopicId(broker, topic));
    if (found?.errorCode === UNKNOWN_TOPIC) {
      this.#connections.forget(topic);
      throw topicUnknown(topic);
    }
    throwIfFailed(found?.errorCode ?? 0, `Topic ${topic}`);
    return found?.id;
  }

  /** See `LogPort.offsetAt`. */
  async offsetAt({ topic, partition }: PartitionName, timestampMs: number): Promise<number> {
    return this.#routed(topic, async () => {
      const nodeId = await this.#connections.leaderOf({ topic, partition });
      const found = await this.#offsets(nodeId, topic, {
        partitions: [partition],
        timestamp: String(Math.max(0, Math.floor(timestampMs))),
      });
      const offset = found.get(partition) ?? NO_OFFSET;
      if (offset !== NO_OFFSET) return offset;
      const ends = await this.#offsets(nodeId, topic, {
        partitions: [partition],
        timestamp: LATEST,
      });
      return ends.get(partition) ?? 0;
    });
  }

  /** See `LogPort.trim`. */
  async trim({ topic, partition }: PartitionName, beforeOffset: number): Promise<void> {
    const where = partitionKey({ topic, partition });
    await this.#routed(topic, async () => {
      const nodeId = await this.#connections.leaderOf({ topic, partition });
      const topics = [{ topic, partitions: [{ partition, offset: String(beforeOffset) }] }];
      const answer = await this.#connections.ask(nodeId, 'DeleteRecords', {
        topics,
        timeout: CREATE_TIMEOUT_MS,
      });
      const errorCode = answer.topics[0]?.partitions[0]?.errorCode ?? UNKNOWN_TOPIC;
      if (errorCode === OFFSET_OUT_OF_RANGE)
        throw trimOutOfRange({ topic, partition }, beforeOffset);
      throwIfFailed(errorCode, `Partition ${where}`);
    });
  }

  async #metadata(specs: readonly TopicSpec[]): Promise<Answers['Metadata']> {
    const answer = await this.#connections.metadata(specs.map(({ name }) => name));
    for (const { topic, topicErrorCode } of answer.topicMetadata) {
      if (topicErrorCode !== UNKNOWN_TOPIC && topicErrorCode !== LEADER_NOT_AVAILABLE) {
        throwIfFailed(topicErrorCode, `Topic ${topic}`);
      }
    }
    for (const spec of specs) refuseOtherCount(spec, partitionCount(answer, spec.name));
    return answer;
  }

  async #create(specs: readonly TopicSpec[], controllerId: number): Promise<void> {
    const topics = specs.map(({ name, partitions, config }) => ({
      topic: name,
      numPartitions: partitions,
      replicationFactor: BROKER_DEFAULT,
      configEntries: Object.entries(config).map(([key, value]) => ({ name: key, value })),
    }));
    const answer = await this.#connections.ask(controllerId, 'CreateTopics', {
      topics,
      validateOnly: false,
      timeout: CREATE_TIMEOUT_MS,
    });
    for (const { topic, errorCode, errorMessage } of answer.topicErrors) {
      if (errorCode === 0 || errorCode === TOPIC_ALREADY_EXISTS) continue;
      const { type, message, retryable } = brokerAnswerError(errorCode, `Topic ${topic}`);
      throw new LongreinError(
        'TOPIC_NOT_CREATED',
        errorMessage ? `${message}: ${errorMessage}` : message,
        {
          fix: `Check the topic's configuration and the right to create topics (${type}).`,
          retryable,
        },
      );
    }
  }

  async #awaitLeaders(specs: readonly TopicSpec[]): Promise<void> {
    const until = Date.now() + LEADERS_TIMEOUT_MS;
    const pause = new Wake();
    for (;;) {
      const answer = await this.#metadata(specs);
      const waiting = specs.find((spec) => !isServed(answer, spec));
      if (waiting === undefined) return;
      if (Date.now() > until) {
        throw new LongreinError(
          'TOPIC_NOT_SERVED',
          `Topic ${waiting.name} got no leader in time.`,
          {
            fix: 'Look at the health of the brokers.',
            retryable: true,
          },
        );
      }
      await pause.wait(LEADERS_PAUSE_MS);
    }
  }

  async #boundsAt(
    nodeId: number,
    topic: string,
    partitions: readonly number[],
  ): Promise<[number, Bounds][]> {
    const list = (timestamp: string): Promise<Map<number, number>> =>
      this.#offsets(nodeId, topic, { partitions, timestamp });
    const [lows, highs] = await Promise.all([list(EARLIEST), list(LATEST)]);
    return partitions.map((partition) => [
      partition,
      { low: lows.get(partition) ?? 0, high: highs.get(partition) ?? 0 },
    ]);
  }

  async #offsets(
    nodeId: number,
    topic: string,
    asked: { partitions: readonly number[]; timestamp: string },
  ): Promise<Map<number, number>> {
    const { timestamp } = asked;
    const partitions = asked.partitions.map((partition) => ({ partition, timestamp }));
    const topics = [{ topic, partitions }];
    const request = { replicaId: REPLICA_OF_NONE, isolationLevel: 0, topics };
    return offsetsOf(await this.#connections.ask(nodeId, 'ListOffsets', request));
  }

  /** Tries again for a while when a partition is between two leaders. */
  async #routed<T>(topic: string, work: () => Promise<T>): Promise<T> {
    const until = Date.now() + LEADERS_TIMEOUT_MS;
    for (;;) {
      try {
        return await work();
      } catch (thrown) {
        this.#connections.forget(topic);
        if (!BETWEEN_LEADERS.has(answerType(thrown) ?? '') || Date.now() > until) throw thrown;
        await new Wake().wait(LEADERS_PAUSE_MS);
      }
    }
  }
}

function offsetsOf(answer: Answers['ListOffsets']): Map<number, number> {
  const offsets = new Map<number, number>();
  for (const { topic, partitions } of answer.responses) {
    for (const { partition, errorCode, offset } of partitions) {
      throwIfFailed(errorCode, `Bounds of ${topic}/${partition}`);
      offsets.set(partition, Number(offset));
    }
  }
  return offsets;
}
