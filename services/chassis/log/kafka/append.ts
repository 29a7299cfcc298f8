/**
 * Appends records to partitions, without an idempotent producer and without any retry: a request
 * whose answer is lost is `uncertain`, and only the caller may send the same bytes again. An append
 * counts as done only if its partition is in the broker's answer with a base offset.
 */
import { ablated } from '../../ablation.ts';
import { InvariantError, toError } from '../../errors.ts';
import { appendFailed, logClosed, partitionKey } from '../log-error.ts';
import type { OutgoingRecord, PartitionName } from '../port.ts';
import type { KafkaConnections } from './client.ts';
import { answerType, appendFailureOf, brokerAnswerError } from './failure.ts';
import { produceBody } from './produce-body.ts';
import { type AppendOutcome, type PendingAppend, ProduceLane } from './produce-lane.ts';
import { type Answers, askProduce } from './wire.ts';

const ACKS_ALL = -1;
const SERVER_TIMEOUT_MS = 10_000;
const RECORD_OVERHEAD_BYTES = 64;

export class KafkaAppender {
  readonly #connections: KafkaConnections;
  readonly #lanes = new Map<number, ProduceLane>();
  #closed = false;

  constructor(connections: KafkaConnections) {
    this.#connections = connections;
  }

  /** See `LogPort.append`. An empty list is a mistake of the caller: InvariantError. */
  async append(
    partition: PartitionName,
    records: readonly OutgoingRecord[],
  ): Promise<{ baseOffset: number }> {
    if (records.length === 0) throw new InvariantError('An append needs at least one record.');
    const outcome = await this.#attempt(partition, records);
    if ('baseOffset' in outcome) return outcome;
    const error = toError(outcome.failure);
    const failure = appendFailureOf(answerType(error) ?? '');
    throw appendFailed(failure, { partition, records }, error);
  }

  /**
   * Waits for what is on the way, then ends. The caller bounds the wait by closing the connections.
   */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#lanes.values()].map((lane) => lane.idle()));
  }

  async #attempt(
    partition: PartitionName,
    records: readonly OutgoingRecord[],
  ): Promise<AppendOutcome> {
    if (this.#closed) return { failure: logClosed() };
    try {
      const lane = this.#lane(await this.#connections.leaderOf(partition));
      const bytes = records.reduce((sum, record) => sum + sizeOf(record), 0);
      return await new Promise((settle) => lane.push({ partition, records, bytes, settle }));
    } catch (thrown) {
      return { failure: thrown };
    }
  }

  #lane(nodeId: number): ProduceLane {
    const known = this.#lanes.get(nodeId);
    if (known !== undefined) return known;
    const lane = new ProduceLane((appends) => this.#produce(nodeId, appends));
    this.#lanes.set(nodeId, lane);
    return lane;
  }

  async #produce(nodeId: number, appends: readonly PendingAppend[]): Promise<void> {
    try {
      const terms = { acks: ACKS_ALL, timeoutMs: SERVER_TIMEOUT_MS, nowMs: Date.now() };
      const body = produceBody(appends, terms);
      const answer = await this.#connections.use(nodeId, (broker) => askProduce(broker, body));
      for (const append of appends) append.settle(this.#outcomeOf(append.partition, answer));
    } catch (thrown) {
      for (const { partition, settle } of appends) {
        this.#connections.forget(partition.topic);
        settle({ failure: thrown });
      }
    }
  }

  #outcomeOf({ topic, partition }: PartitionName, answer: Answers['Produce']): AppendOutcome {
    const found = answer.topics
      .filter(({ topicName }) => topicName === topic)
      .flatMap(({ partitions }) => partitions)
      .find((entry) => entry.partition === partition);
    const where = `Partition ${partitionKey({ topic, partition })}`;
    if (found?.errorCode === 0) return { baseOffset: Number(found.baseOffset) };
    this.#connections.forget(topic);
    if (found === undefined && ablated('15a')) return { baseOffset: -1 };
    if (found === undefined)
      return { failure: new Error(`${where} is not in the broker's answer`) };
    return { failure: brokerAnswerError(found.errorCode, where) };
  }
}

function sizeOf({ key, headers, value }: OutgoingRecord): number {
  const text = Object.entries(headers).reduce(
    (sum, [name, body]) => sum + name.length + body.length,
    0,
  );
  return key.length + text + (value?.byteLength ?? 0) + RECORD_OVERHEAD_BYTES;
}
