import type { PartitionName } from '../log/port.ts';
import type { AcceptanceState } from '../protocol/acceptance.ts';

/**
 * What stands in the compacted topic of watermarks, and under which key. A key that is written again replaces what it
 * said; what must never be replaced by a lower one (trims) has its offset in its key.
 */

/** Where a service may start reading a partition, with the acceptance state at that place. */
export type Watermark = Readonly<{
  service: string;
  topic: string;
  partition: number;
  offset: number;
  acceptance: AcceptanceState;
  /** The session that needs what stands here; without one nothing is open below the position. */
  heldBy?: string;
  /** Records of the log after which its owner carries that session forward. */
  stretch?: number;
}>;

/**
 * Sessions closed in one hour of the log's own time: id -> offset of the closing record. An hour has many segments: what
 * one host wrote must not be replaced by what another, which has read less, writes later.
 */
export type ClosedSegment = Readonly<{
  topic: string;
  partition: number;
  hour: number;
  sessions: Readonly<Record<string, number>>;
}>;

/** An offset below every watermark of its time, with the acceptance state there: the log may be trimmed to it later. */
export type Place = Readonly<{
  topic: string;
  partition: number;
  offset: number;
  acceptance: AcceptanceState;
  atMs: number;
}>;

/** What is below this offset is deleted, or about to be. The closed sessions of that part stand in the segments. */
export type Trim = Place;

/** What a person did, with who and why. */
export type Deed = Readonly<{ by: string; reason: string; atMs: number }>;

/** A service whose watermarks hold what janitors may delete. */
export type ListedService = Readonly<{
  service: string;
  /** Topics whose records it needs until its mark has passed them. */
  topics: readonly string[];
  release: string;
  atMs: number;
  /** Holds nothing any more, and may not be started. */
  retired?: Deed;
  /** It was retired before, and may be started again. */
  reinstated?: Deed;
}>;

/** A topic as it was when marks were first written for it; `id` is another one where it was made again. */
export type KnownTopic = Readonly<{
  topic: string;
  id: string;
  atMs: number;
  /** The last time that a person had it read from a place other than its marks. */
  reset?: Deed;
  /** How often it was made, where a person gave up what was in the one before; absent for the first. */
  made?: number;
}>;

export const prefixes = {
  mark: 'mark/',
  closed: 'closed/',
  place: 'place/',
  trim: 'trim/',
  service: 'service/',
  topic: 'topic/',
} as const;

const at = ({ topic, partition }: PartitionName): string => `${topic}/${partition}`;

export const markKey = (service: string, name: PartitionName): string =>
  `${prefixes.mark}${service}/${at(name)}`;

export const closedPrefix = (name: PartitionName): string => `${prefixes.closed}${at(name)}/`;

/** Named by its first and last closing: the same two are the same segment, whoever writes it and however late. */
export function closedKey(segment: ClosedSegment): string {
  const offsets = Object.values(segment.sessions);
  let [first, last] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const offset of offsets) {
    first = Math.min(first, offset);
    last = Math.max(last, offset);
  }
  return `${closedPrefix(segment)}${segment.hour}/${first}-${last}`;
}

/** The hour of a segment, by its key. */
export const hourOf = (key: string): number => Number(key.split('/')[3]);

export const placeKey = (place: Place): string => `${prefixes.place}${at(place)}/${place.offset}`;
export const trimKey = (trim: Trim): string => `${prefixes.trim}${at(trim)}/${trim.offset}`;
export const serviceKey = (service: string): string => `${prefixes.service}${service}`;
export const topicKey = (topic: string): string => `${prefixes.topic}${topic}`;
