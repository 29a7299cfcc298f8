/**
 * Hands fetched records to the reader's owner, and decides what an error of one partition means.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { InvariantError, LongreinError, toError } from '../../errors.ts';
import { partitionKey, positionOutOfRange } from '../log-error.ts';
import type { LogRecord, PartitionName, ReaderHandlers } from '../port.ts';
import { brokerAnswerError } from './failure.ts';
import type { FetchedPartition } from './fetch-answer.ts';
import type { Reading, ReadingTable } from './reading.ts';
import { type DecodedRecords, decodeRecords, recordsIn } from './record-batch.ts';

const OFFSET_OUT_OF_RANGE = 1;
const TOPIC_AUTHORIZATION_FAILED = 29;
/**
 * After decoding this much the event loop gets a turn, so that heartbeats and appends are not late.
 */
const BYTES_PER_TURN = 512 * 1024;
/** And after handing over so many records: what their owner does with them takes its time, too. */
const RECORDS_PER_TURN = 100;

/** What came, and what is left to the reader: partitions whose leader has to be found again, and why. */
export type Delivered = Readonly<{
  readings: readonly Reading[];
  error: Error | undefined;
  /** Of the answer, with what its reader knew already. */
  records: number;
  bytes: number;
}>;

export class Delivery {
  readonly #table: ReadingTable;
  readonly #handlers: ReaderHandlers;

  constructor(table: ReadingTable, handlers: ReaderHandlers) {
    this.#table = table;
    this.#handlers = handlers;
  }

  async deliver(
    fetched: readonly FetchedPartition[],
    requested: readonly Reading[],
  ): Promise<Delivered> {
    const displaced: Reading[] = [];
    const all = { records: 0, bytes: 0 };
    let error: Error | undefined;
    let bytes = 0;
    for (const part of fetched) {
      const reading = requested.find((one) => isNamed(one.name, part));
      if (reading === undefined || !this.#table.holds(reading)) continue;
      const failure = await this.#deliverPartition(reading, part);
      if (failure !== undefined) displaced.push(reading);
      error ??= failure;
      all.records += recordsIn(part.bytes);
      all.bytes += part.bytes.length;
      bytes += part.bytes.length;
      if (bytes > BYTES_PER_TURN) {
        bytes = 0;
        await nextTurn();
      }
    }
    return { readings: displaced, error, ...all };
  }

  /** Ends the reading of a partition for good and says why. */
  giveUp(name: PartitionName, error: Error): void {
    this.#table.remove(name);
    this.#handlers.onPartitionError(name, error);
  }

  async #deliverPartition(reading: Reading, part: FetchedPartition): Promise<Error | undefined> {
    const where = `Partition ${part.topic}/${part.partition}`;
    if (part.errorCode === OFFSET_OUT_OF_RANGE) {
      this.giveUp(reading.name, positionOutOfRange(reading.name, reading.position));
      return undefined;
    }
    if (part.errorCode === TOPIC_AUTHORIZATION_FAILED) {
      this.giveUp(reading.name, brokerAnswerError(part.errorCode, where));
      return undefined;
    }
    if (part.errorCode !== 0) return brokerAnswerError(part.errorCode, where);
    // What arrives for a paused partition is fetched again later.
    if (!reading.paused && part.bytes.length > 0) await this.#handOver(reading, part.bytes);
    return undefined;
  }

  async #handOver(reading: Reading, bytes: Buffer): Promise<void> {
    const decoded = this.#decode(reading, bytes);
    if (decoded === undefined) return;
    const { records, nextOffset } = decoded;
    for (let from = 0; from < records.length; from += RECORDS_PER_TURN) {
      if (from > 0) await nextTurn();
      // What is left is fetched again later, from where the owner then wants it.
      if (reading.paused || !this.#table.holds(reading)) return;
      const some = records.slice(from, from + RECORDS_PER_TURN);
      if (!this.#hand(reading, some)) return;
    }
    if (this.#table.holds(reading) && !reading.paused)
      reading.position = Math.max(reading.position, nextOffset);
  }

  /** False where the owner cannot take them. */
  #hand(reading: Reading, records: readonly LogRecord[]): boolean {
    // Before the call, because the owner may assign another position in it.
    const last = records.at(-1)?.offset ?? reading.position;
    reading.position = Math.max(reading.position, last + 1);
    try {
      this.#handlers.onRecords(reading.name, records);
      return true;
    } catch (thrown) {
      const where = partitionKey(reading.name);
      const message = `The handler of ${where} threw: ${toError(thrown).message}`;
      this.giveUp(reading.name, new InvariantError(message, thrown));
      return false;
    }
  }

  #decode(reading: Reading, bytes: Buffer): DecodedRecords | undefined {
    try {
      return decodeRecords(reading.name, bytes, reading.position);
    } catch (thrown) {
      this.giveUp(reading.name, unreadable(reading, thrown));
      return undefined;
    }
  }
}

function isNamed(name: PartitionName, part: FetchedPartition): boolean {
  return name.partition === part.partition && name.topic === part.topic;
}

function unreadable({ name, position }: Reading, thrown: unknown): LongreinError {
  if (thrown instanceof LongreinError) return thrown;
  return new LongreinError(
    'RECORDS_UNREADABLE',
    `${partitionKey(name)} cannot be decoded from offset ${position}: ${toError(thrown).message}`,
    { cause: thrown },
  );
}
