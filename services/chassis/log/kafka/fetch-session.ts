/**
 * An incremental fetch session with one broker (KIP-227): after a first full request, only what has changed is named,
 * and only partitions with news are answered. Without it every append would make every reader name all its partitions.
 */
import { partitionKey } from '../log-error.ts';
import type { PartitionName } from '../port.ts';
import type { Reading } from './reading.ts';

const PARTITION_BYTES_MAX = 1024 * 1024;
const FETCH_SESSION_ID_NOT_FOUND = 70;
const INVALID_FETCH_SESSION_EPOCH = 71;

export type SessionFields = Readonly<{
  sessionId: number;
  sessionEpoch: number;
  topics: readonly object[];
  forgottenTopics: readonly object[];
}>;

type Known = Readonly<{ name: PartitionName; position: number }>;

export class FetchSession {
  #id = 0;
  #epoch = 0;
  /** What the broker holds for this session. */
  #known = new Map<string, Known>();

  /** The members of a request that make the broker fetch exactly these readings. */
  fields(readings: readonly Reading[]): SessionFields {
    const wanted = new Map(readings.map((one) => [partitionKey(one.name), one]));
    const gone = [...this.#known].filter(([key]) => !wanted.has(key));
    const changed = [...wanted].filter(
      ([key, { position }]) => this.#known.get(key)?.position !== position,
    );
    this.#known = new Map(
      [...wanted].map(([key, { name, position }]) => [key, { name, position }]),
    );
    return {
      sessionId: this.#id,
      sessionEpoch: this.#epoch,
      topics: byTopic(
        changed.map(([, one]) => one),
        ({ name, position }) => ({
          partition: name.partition,
          fetchOffset: String(position),
          maxBytes: PARTITION_BYTES_MAX,
        }),
      ),
      forgottenTopics: byTopic(
        gone.map(([, one]) => one),
        ({ name }) => name.partition,
      ),
    };
  }

  /** Takes what the answer says of the session. False: the broker has lost it, and the next request is a full one. */
  answered({ errorCode, sessionId }: { errorCode: number; sessionId: number }): boolean {
    const lost =
      errorCode === FETCH_SESSION_ID_NOT_FOUND || errorCode === INVALID_FETCH_SESSION_EPOCH;
    if (lost || sessionId === 0) {
      this.reset();
      return !lost;
    }
    this.#id = sessionId;
    this.#epoch += 1;
    return true;
  }

  /** Nobody knows what the broker holds now. */
  reset(): void {
    this.#id = 0;
    this.#epoch = 0;
    this.#known = new Map();
  }
}

function byTopic<P extends { readonly name: PartitionName }>(
  parts: readonly P[],
  encode: (part: P) => unknown,
): object[] {
  const topics = new Map<string, unknown[]>();
  for (const part of parts) {
    const partitions = topics.get(part.name.topic) ?? [];
    partitions.push(encode(part));
    topics.set(part.name.topic, partitions);
  }
  return [...topics].map(([topic, partitions]) => ({ topic, partitions }));
}
