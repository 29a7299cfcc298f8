import { limits } from '../../../schemas/limits.ts';
import { watermarksTopic } from '../../../schemas/topics.ts';
import { toError } from '../errors.ts';
import type { LogRecord, OutgoingRecord, PartitionName } from '../log/port.ts';
import type { HostPorts } from './ports.ts';
import { StateTopic } from './state-topic.ts';
import {
  type ClosedSegment,
  closedKey,
  closedPrefix,
  hourOf,
  type KnownTopic,
  type ListedService,
  markKey,
  type Place,
  prefixes,
  serviceKey,
  type Trim,
  topicKey,
  type Watermark,
} from './watermark-records.ts';

export type { ClosedSegment, Watermark } from './watermark-records.ts';

const horizonHours = limits.dedupeHorizonMs / 3_600_000;

export type WatermarkPorts = Pick<HostPorts, 'log' | 'codec' | 'logger'>;

/** A record to be written: a value under its key, or undefined to take the key off. */
export type Entry = Readonly<{ key: string; value: object | undefined }>;

type Mark = Readonly<{ mark: Watermark; sinceMs: number }>;

/**
 * Watermarks, trims and closed segments, followed from a compacted topic. Anybody may write marks at any time: one that
 * is too low only costs reading; nobody writes one that is too high (it covers only what a checkpoint or a closing
 * holds). Of trims the highest counts, in whatever order they were written: they only grow.
 */
export class Watermarks {
  private readonly marks = new Map<string, Mark>();
  /** As bytes: a host looks into those of its own partitions only. */
  private readonly segments = new Map<string, Uint8Array>();
  private readonly places = new Map<string, Place>();
  private readonly trims = new Map<string, Trim>();
  private readonly services = new Map<string, ListedService>();
  private readonly topics = new Map<string, KnownTopic>();
  private readonly log: StateTopic;
  private readonly ports: WatermarkPorts;

  constructor(ports: WatermarkPorts) {
    this.ports = ports;
    const onRecord = (record: LogRecord): void => this.take(record);
    this.log = new StateTopic({ ports, topic: watermarksTopic, onRecord });
  }

  start(): Promise<void> {
    return this.log.start();
  }

  /** Waits until all that is in the topic now was read. */
  current(): Promise<void> {
    return this.log.current();
  }

  of(service: string, at: PartitionName): Watermark | undefined {
    return this.marks.get(markKey(service, at))?.mark;
  }

  /** Since when the mark of a service has stood where it is, in milliseconds since 1970. */
  standsSinceMs(service: string, at: PartitionName): number | undefined {
    return this.marks.get(markKey(service, at))?.sinceMs;
  }

  /** All marks of a partition, whatever the service. */
  at(name: PartitionName): readonly Watermark[] {
    return [...this.marks.values()].map(({ mark }) => mark).filter((mark) => isOf(mark, name));
  }

  /** The highest trim of a partition. */
  trimAt(name: PartitionName): Trim | undefined {
    return this.trimsAt(name).at(-1);
  }

  /** Lowest first. */
  trimsAt(name: PartitionName): readonly Trim[] {
    return byOffset([...this.trims.values()].filter((trim) => isOf(trim, name)));
  }

  /** Where the partition may be trimmed to later; lowest first. */
  placesAt(name: PartitionName): readonly Place[] {
    return byOffset([...this.places.values()].filter((place) => isOf(place, name)));
  }

  closedAt(name: PartitionName): readonly ClosedSegment[] {
    return this.closedKeysAt(name).flatMap((key) => this.closedSegment(key) ?? []);
  }

  closedSegment(key: string): ClosedSegment | undefined {
    const value = this.segments.get(key);
    return value === undefined ? undefined : (this.decode(key, value) as ClosedSegment | undefined);
  }

  closedKeysAt(name: PartitionName): readonly string[] {
    const prefix = closedPrefix(name);
    return [...this.segments.keys()].filter((key) => key.startsWith(prefix));
  }

  listed(): readonly ListedService[] {
    return [...this.services.values()];
  }

  service(name: string): ListedService | undefined {
    return this.services.get(serviceKey(name));
  }

  topic(name: string): KnownTopic | undefined {
    return this.topics.get(topicKey(name));
  }

  /** All topics whose identity is known. */
  knownTopics(): readonly KnownTopic[] {
    return [...this.topics.values()];
  }

  /** Segments go first: a mark may pass a closing only when the closing is remembered elsewhere. */
  async write(marks: readonly Watermark[], segments: readonly ClosedSegment[]): Promise<void> {
    await this.put([
      ...segments.map((segment) => ({ key: closedKey(segment), value: segment })),
      ...this.expired(segments),
      ...marks.map((mark) => ({ key: markKey(mark.service, mark), value: mark })),
    ]);
  }

  /** Writes in this order and waits until the broker has all of it. */
  async put(entries: readonly Entry[]): Promise<void> {
    for (const records of requestsOf(entries.map((entry) => this.record(entry))))
      await this.ports.log.append({ topic: watermarksTopic, partition: 0 }, records);
  }

  /** Segments past the horizon, as tombstones; looked for where new ones are written. */
  private expired(segments: readonly ClosedSegment[]): Entry[] {
    if (segments.length === 0) return [];
    const newest = Math.max(...segments.map(({ hour }) => hour));
    return [...this.segments.keys()].flatMap((key) =>
      hourOf(key) < newest - horizonHours ? [{ key, value: undefined }] : [],
    );
  }

  stop(): Promise<void> {
    return this.log.stop();
  }

  private record({ key, value }: Entry): OutgoingRecord {
    const headers = { ce_type: 'longrein.watermark.v1', ce_id: key };
    const bytes = value === undefined ? null : this.ports.codec.encode('watermark', value);
    return { key, headers, value: bytes };
  }

  private take(record: LogRecord): void {
    if (record.value === null) this.forget(record.key);
    else this.keep(record, record.value);
  }

  /** Past the horizon, passed by a trim, or of a retired service. */
  private forget(key: string): void {
    for (const kept of [this.segments, this.marks, this.places, this.trims]) kept.delete(key);
    this.services.delete(key);
    this.topics.delete(key);
  }

  private keep({ key, timestampMs }: LogRecord, value: Uint8Array): void {
    if (key.startsWith(prefixes.closed)) {
      this.segments.set(key, value);
      return;
    }
    const body = this.decode(key, value);
    if (body === undefined) return;
    if (key.startsWith(prefixes.mark)) this.keepMark(key, body as Watermark, timestampMs);
    else if (key.startsWith(prefixes.place)) this.places.set(key, body as Place);
    else if (key.startsWith(prefixes.trim)) this.trims.set(key, body as Trim);
    else if (key.startsWith(prefixes.service)) this.services.set(key, body as ListedService);
    else if (key.startsWith(prefixes.topic)) this.topics.set(key, body as KnownTopic);
  }

  private keepMark(key: string, mark: Watermark, timestampMs: number): void {
    const known = this.marks.get(key);
    const stands = known !== undefined && known.mark.offset === mark.offset;
    this.marks.set(key, { mark, sinceMs: stands ? known.sinceMs : timestampMs });
  }

  private decode(key: string, value: Uint8Array): unknown {
    try {
      return this.ports.codec.decode(value).body;
    } catch (thrown) {
      const error = toError(thrown).message;
      this.ports.logger.warn({ key, error }, 'unreadable watermark ignored');
      return undefined;
    }
  }
}

const isOf = (one: PartitionName, name: PartitionName): boolean =>
  one.topic === name.topic && one.partition === name.partition;

const byOffset = <T extends Readonly<{ offset: number }>>(all: T[]): T[] =>
  all.sort((a, b) => a.offset - b.offset);

/** In order, each small enough for one request. */
function requestsOf(records: readonly OutgoingRecord[]): OutgoingRecord[][] {
  const requests: OutgoingRecord[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const record of records) {
    const size = (record.value?.length ?? 0) + 4 * record.key.length + 100;
    const last = requests.at(-1);
    const fits = bytes + size <= limits.requestBytesMax;
    if (last !== undefined && fits && last.length < limits.requestRecordsMax) {
      last.push(record);
      bytes += size;
    } else {
      requests.push([record]);
      bytes = size;
    }
  }
  return requests;
}
