/**
 * Reads partitions by our own fetch loops, one per broker, outside every consumer group: kafkajs's
 * consumer reads in step with its group, starts from committed offsets after every rebalance and
 * resets a lost position silently. Positions live in the table only and are never thrown away by a
 * failure.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { InvariantError, LongreinError, toError } from '../../errors.ts';
import { partitionKey, topicUnknown } from '../log-error.ts';
import type { PartitionName, Reader, ReaderHandlers, ReaderOptions } from '../port.ts';
import type { KafkaConnections } from './client.ts';
import { Delivery } from './delivery.ts';
import { Echo } from './echo.ts';
import { brokerAnswerError } from './failure.ts';
import { decodeFetchAnswer } from './fetch-answer.ts';
import { FetchSession, type SessionFields } from './fetch-session.ts';
import { LongPoll } from './long-poll.ts';
import { type Reading, ReadingTable } from './reading.ts';
import { Backoff, Wake } from './wake.ts';
import { askFetch } from './wire.ts';

const BYTES_MAX = 8 * 1024 * 1024;
const READ_UNCOMMITTED = 0;
/** An answer of so many bytes had more to bring than it could: no rest after it. */
const BYTES_BUSY = 1024 * 1024;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;
/** A new topic is not known to every broker at once; after this time it does not exist. */
const UNKNOWN_TOPIC_GRACE_MS = 10_000;

export type FetchReaderOptions = ReaderOptions & Readonly<{ onClosed(reader: Reader): void }>;

export class FetchReader implements Reader {
  readonly #connections: KafkaConnections;
  readonly #handlers: ReaderHandlers;
  readonly #options: FetchReaderOptions;
  readonly #echo = new Echo();
  readonly #table = new ReadingTable();
  readonly #delivery: Delivery;
  readonly #loops = new Map<number, { wake: Wake; poll: LongPoll; ended: Promise<void> }>();
  readonly #backoff = new Backoff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
  /** Ends a pause in the search for leaders. */
  readonly #search = new Wake();
  #closed = false;
  #placing: Promise<void> | undefined;

  constructor(
    connections: KafkaConnections,
    handlers: ReaderHandlers,
    options: FetchReaderOptions,
  ) {
    this.#connections = connections;
    this.#options = options;
    this.#handlers = handlers;
    this.#delivery = new Delivery(this.#table, handlers);
  }

  assign(partition: PartitionName, fromOffset: number): void {
    if (!Number.isSafeInteger(fromOffset) || fromOffset < 0) {
      throw new InvariantError(`${fromOffset} is not an offset to read from.`);
    }
    const { topic, partition: number } = partition;
    this.#table.assign({ topic, partition: number }, fromOffset);
    this.#search.ring();
    this.#place(0);
  }

  unassign(partition: PartitionName): void {
    this.#table.remove(partition);
  }

  pause(partition: PartitionName): void {
    const reading = this.#table.find(partition);
    if (reading !== undefined) reading.paused = true;
  }

  resume(partition: PartitionName): void {
    const reading = this.#table.find(partition);
    if (reading === undefined) return;
    reading.paused = false;
    this.#wakeLoops();
    if (reading.leader !== undefined) this.#loops.get(reading.leader)?.poll.interrupt();
  }

  skip(partition: PartitionName, fromOffset: number, toOffset: number): void {
    this.#echo.wrote(toOffset - fromOffset);
    this.#table.skip(partition, fromOffset, toOffset);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#wakeLoops();
    this.#search.ring();
    this.#connections.close();
    await Promise.all([...this.#loops.values()].map(({ ended }) => ended));
    await this.#placing;
    this.#options.onClosed(this);
  }

  #wakeLoops(): void {
    for (const { wake } of this.#loops.values()) wake.ring();
  }

  /** Finds the leader of every partition that has none, for as long as it takes. */
  #place(afterMs: number): void {
    this.#placing ??= this.#placeAll(afterMs).finally(() => {
      this.#placing = undefined;
      // One may have been assigned or displaced after the last look.
      if (!this.#closed && this.#table.homeless().length > 0) this.#place(0);
    });
  }

  async #placeAll(afterMs: number): Promise<void> {
    let pauseMs = afterMs;
    while (!this.#closed && this.#table.homeless().length > 0) {
      if (pauseMs > 0) await this.#search.wait(pauseMs);
      const topics = new Set(this.#table.homeless().map(({ name }) => name.topic));
      const failures = await Promise.all([...topics].map((topic) => this.#placeTopic(topic)));
      const failure = failures.find((error) => error !== undefined);
      this.#wakeLoops();
      if (failure === undefined || this.#closed) continue;
      this.#handlers.onInterruption(failure);
      pauseMs = this.#backoff.nextMs();
    }
  }

  async #placeTopic(topic: string): Promise<Error | undefined> {
    const readings = (): Reading[] =>
      this.#table.homeless().filter(({ name }) => name.topic === topic);
    try {
      const leaders = await this.#connections.leaders(topic);
      const results = readings().map((one) => this.#settle(one, leaders.get(one.name.partition)));
      const failure = results.find((error) => error !== undefined);
      if (failure !== undefined) this.#connections.forget(topic);
      return failure;
    } catch (thrown) {
      const error = toError(thrown);
      const unknown = error instanceof LongreinError && error.code === 'TOPIC_UNKNOWN';
      if (unknown) for (const reading of readings()) this.#missing(reading, error);
      return error;
    }
  }

  #settle(reading: Reading, leader: number | undefined): Error | undefined {
    const { topic, partition } = reading.name;
    if (leader === undefined)
      return this.#missing(reading, topicUnknown(partitionKey(reading.name)));
    if (leader < 0) return new Error(`Partition ${topic}/${partition} has no leader at present.`);
    reading.leader = leader;
    reading.unknownSinceMs = undefined;
    this.#startLoop(leader);
    return undefined;
  }

  #missing(reading: Reading, error: Error): Error {
    reading.unknownSinceMs ??= Date.now();
    const waitedMs = Date.now() - reading.unknownSinceMs;
    if (waitedMs >= UNKNOWN_TOPIC_GRACE_MS) this.#delivery.giveUp(reading.name, error);
    return error;
  }

  #startLoop(nodeId: number): void {
    const running = this.#loops.get(nodeId);
    // What it waits for does not hold the new partition.
    if (running !== undefined) {
      running.poll.interrupt();
      return;
    }
    const wake = new Wake();
    const poll = new LongPoll(() => this.#connections.cut(nodeId), this.#options.isPrompt);
    this.#loops.set(nodeId, { wake, poll, ended: this.#readFrom({ nodeId, wake, poll }) });
  }

  async #readFrom({ nodeId, wake, poll }: { nodeId: number; wake: Wake; poll: LongPoll }) {
    const from = { nodeId, poll, session: new FetchSession() };
    while (!this.#closed) {
      if (this.#table.readableAt(nodeId).length === 0) await wake.wait();
      else await this.#rest(await this.#readOnce(from));
    }
  }

  /** After an answer of so many bytes. */
  async #rest(bytes: number): Promise<void> {
    if (bytes === 0 || bytes > BYTES_BUSY || this.#closed) return;
    const restMs = Math.max(this.#options.restMs ?? 0, this.#echo.restMs);
    if (restMs > 0) await sleep(restMs);
  }

  /** Answers how many bytes came. */
  async #readOnce(from: Source): Promise<number> {
    const { nodeId, poll, session } = from;
    let requested: readonly Reading[] = [];
    try {
      const fetched = await this.#connections.use(nodeId, async (broker) => {
        // Only now: what was assigned while the connection was made need not cut it.
        requested = this.#table.readableAt(nodeId);
        const waitMs = poll.begin(this.#table.somePaused);
        const request = fetchRequest(waitMs, session.fields(requested));
        return decodeFetchAnswer(await askFetch(broker, request));
      });
      if (this.#closed || !session.answered(fetched)) return 0;
      if (fetched.errorCode !== 0) throw brokerAnswerError(fetched.errorCode, 'The fetch');
      const displaced = await this.#delivery.deliver(fetched.partitions, requested);
      if (displaced.error === undefined) this.#backoff.reset();
      else this.#displace(displaced.readings, displaced.error);
      this.#echo.answered(displaced.records);
      poll.answered(displaced.records);
      return displaced.bytes;
    } catch (thrown) {
      session.reset();
      if (!poll.interrupted && !this.#closed)
        this.#displace(this.#table.readableAt(nodeId), toError(thrown));
      return 0;
    } finally {
      poll.end();
    }
  }

  #displace(readings: readonly Reading[], error: Error): void {
    for (const reading of readings) {
      reading.leader = undefined;
      this.#connections.forget(reading.name.topic);
    }
    this.#handlers.onInterruption(error);
    this.#place(this.#backoff.nextMs());
  }
}

type Source = Readonly<{ nodeId: number; poll: LongPoll; session: FetchSession }>;

function fetchRequest(maxWaitTime: number, fields: SessionFields): object {
  return {
    maxWaitTime,
    minBytes: 1,
    maxBytes: BYTES_MAX,
    isolationLevel: READ_UNCOMMITTED,
    rackId: '',
    ...fields,
  };
}
