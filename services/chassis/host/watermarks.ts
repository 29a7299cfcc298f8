import { limits } from '../../../schemas/limits.ts';
import { watermarksTopic } from '../../../schemas/topics.ts';
import { toError } from '../errors.ts';
import type { LogRecord, OutgoingRecord, PartitionName, Reader } from '../log/port.ts';
import type { AcceptanceState } from '../protocol/acceptance.ts';
import type { HostPorts } from './ports.ts';

/** Where a service may start reading a partition, with the acceptance state at that place. */
export type Watermark = Readonly<{
  service: string;
  topic: string;
  partition: number;
  offset: number;
  acceptance: AcceptanceState;
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

const horizonHours = limits.dedupeHorizonMs / 3_600_000;

const markKey = (service: string, at: PartitionName): string =>
  `mark/${service}/${at.topic}/${at.partition}`;
/** Named by its first and last closing: the same two are the same segment, whoever writes it and however late. */
function closedKey({ topic, partition, hour, sessions }: ClosedSegment): string {
  const offsets = Object.values(sessions);
  const range = `${Math.min(...offsets)}-${Math.max(...offsets)}`;
  return `closed/${topic}/${partition}/${hour}/${range}`;
}

/**
 * Watermarks and closed segments, followed from a compacted topic. Anybody may write them at any time: a mark that is
 * too low only costs reading; nobody writes one that is too high (it covers only what a checkpoint or a closing holds).
 */
export class Watermarks {
  private readonly marks = new Map<string, Watermark>();
  private readonly segments = new Map<string, ClosedSegment>();
  private reader: Reader | undefined;
  private position = 0;
  private waiting: { offset: number; resolve: () => void }[] = [];

  private readonly ports: Pick<HostPorts, 'log' | 'codec' | 'logger'>;

  constructor(ports: Pick<HostPorts, 'log' | 'codec' | 'logger'>) {
    this.ports = ports;
  }

  async start(): Promise<void> {
    const bounds = (await this.ports.log.bounds(watermarksTopic)).get(0);
    this.position = bounds?.low ?? 0;
    this.reader = await this.ports.log.reader({
      onRecords: (_partition, records) => this.take(records),
      onPartitionError: (_partition, error) =>
        this.ports.logger.error({ error: error.message }, 'watermarks cannot be read'),
      onInterruption: () => undefined,
    });
    this.reader.assign({ topic: watermarksTopic, partition: 0 }, this.position);
  }

  /** Waits until all that is in the topic now was read. */
  async current(): Promise<void> {
    const bounds = (await this.ports.log.bounds(watermarksTopic)).get(0);
    const high = bounds?.high ?? 0;
    if (this.position >= high) return;
    await new Promise<void>((resolve) => {
      this.waiting.push({ offset: high, resolve });
    });
  }

  of(service: string, at: PartitionName): Watermark | undefined {
    return this.marks.get(markKey(service, at));
  }

  /** All marks of a partition, whatever the service. */
  at(partition: PartitionName): readonly Watermark[] {
    return [...this.marks.values()].filter(
      (mark) => mark.topic === partition.topic && mark.partition === partition.partition,
    );
  }

  closedAt(partition: PartitionName): readonly ClosedSegment[] {
    return [...this.segments.values()].filter(
      (segment) => segment.topic === partition.topic && segment.partition === partition.partition,
    );
  }

  /** Segments go first: a mark may pass a closing only when the closing is remembered elsewhere. */
  async write(marks: readonly Watermark[], segments: readonly ClosedSegment[]): Promise<void> {
    const records: OutgoingRecord[] = [
      ...segments.map((segment) => this.record(closedKey(segment), segment)),
      ...this.expired(segments),
      ...marks.map((mark) => this.record(markKey(mark.service, mark), mark)),
    ];
    if (records.length === 0) return;
    await this.ports.log.append({ topic: watermarksTopic, partition: 0 }, records);
  }

  /** Segments past the horizon, as tombstones; looked for where new ones are written. */
  private expired(segments: readonly ClosedSegment[]): OutgoingRecord[] {
    const newest = Math.max(...segments.map(({ hour }) => hour));
    return [...this.segments].flatMap(([key, { hour }]) => {
      if (!(hour < newest - horizonHours)) return [];
      return [{ key, headers: { ce_type: 'longrein.watermark.v1', ce_id: key }, value: null }];
    });
  }

  async stop(): Promise<void> {
    await this.reader?.close();
  }

  private record(key: string, value: object): OutgoingRecord {
    const headers = { ce_type: 'longrein.watermark.v1', ce_id: key };
    return { key, headers, value: this.ports.codec.encode('watermark', value) };
  }

  private take(records: readonly LogRecord[]): void {
    for (const record of records) {
      this.position = record.offset + 1;
      if (record.value === null) this.forget(record.key);
      else this.decode(record, record.value);
    }
    const reached = this.waiting.filter((one) => one.offset <= this.position);
    this.waiting = this.waiting.filter((one) => one.offset > this.position);
    for (const one of reached) one.resolve();
  }

  /** A segment past the horizon, or the mark of a retired service. */
  private forget(key: string): void {
    this.segments.delete(key);
    this.marks.delete(key);
  }

  private decode(record: LogRecord, value: Uint8Array): void {
    try {
      const { body } = this.ports.codec.decode(value);
      if (record.key.startsWith('mark/')) this.marks.set(record.key, body as Watermark);
      else if (record.key.startsWith('closed/'))
        this.segments.set(record.key, body as ClosedSegment);
    } catch (thrown) {
      this.ports.logger.warn(
        { key: record.key, error: toError(thrown).message },
        'unreadable watermark ignored',
      );
    }
  }
}
