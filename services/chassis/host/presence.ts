import { limits } from '../../../schemas/limits.ts';
import { presenceTopic } from '../../../schemas/topics.ts';
import { toError } from '../errors.ts';
import type { LogRecord, Reader } from '../log/port.ts';
import type { Halt } from './halts.ts';
import type { HostPorts } from './ports.ts';

/** What an instance says of itself. */
export type Heartbeat = Readonly<{
  incarnation: string;
  host: string;
  services: readonly string[];
  /** `topic/partition` -> epoch that it owns and reads. */
  partitions: Readonly<Record<string, number>>;
  /** `topic/partition` -> why it is not worked on there, and what mends that. */
  halted?: Readonly<Record<string, Halt>>;
  release: string;
  atMs: number;
  /** The last one: the instance ends in good order, and nothing of it runs any more. */
  ended?: true;
}>;

/** So many heartbeats before the newest are read at the start, for instances that have just ended. */
const recentBeats = 200;

/**
 * Heartbeats of all instances (DESIGN 3.1). An instance counts as gone when it was not heard for `presenceMs`, counted
 * only while this instance hears at least itself: a broken presence topic proves nothing about anybody.
 */
export class Presence {
  private readonly heardAtMs = new Map<string, number>();
  private readonly beats = new Map<string, Heartbeat>();
  private reader: Reader | undefined;
  private hearingSinceMs: number | undefined;
  private cancelBeat: (() => void) | undefined;
  private stopped = false;

  private readonly ports: HostPorts;
  private readonly incarnation: string;
  private readonly describe: () => Heartbeat;
  private readonly onChange: () => void;

  constructor(
    ports: HostPorts,
    own: { incarnation: string; describe: () => Heartbeat; onChange: () => void },
  ) {
    this.ports = ports;
    this.incarnation = own.incarnation;
    this.describe = own.describe;
    this.onChange = own.onChange;
  }

  async start(): Promise<void> {
    const bounds = (await this.ports.log.bounds(presenceTopic)).get(0);
    this.reader = await this.ports.log.reader({
      onRecords: (_partition, records) => this.hear(records),
      onPartitionError: (_partition, error) =>
        this.ports.logger.error({ error: error.message }, 'presence cannot be read'),
      onInterruption: () => undefined,
    });
    const { low, high } = bounds ?? { low: 0, high: 0 };
    this.reader.assign({ topic: presenceTopic, partition: 0 }, Math.max(low, high - recentBeats));
    this.beat();
  }

  /** Whether this instance was not heard for so long that its claims are nobody's. */
  isGone(incarnation: string): boolean {
    if (incarnation === this.incarnation) return false;
    if (this.beats.get(incarnation)?.ended === true) return true;
    const nowMs = this.ports.clock.nowMs();
    if (this.hearingSinceMs === undefined || !this.hearing(nowMs)) return false;
    const since = Math.max(this.heardAtMs.get(incarnation) ?? 0, this.hearingSinceMs);
    return nowMs - since > limits.presenceMs;
  }

  /** Whether this instance hears itself. After a silence all waiting begins anew. */
  private hearing(nowMs: number): boolean {
    const own = this.heardAtMs.get(this.incarnation);
    return own !== undefined && nowMs - own <= limits.presenceMs / 2;
  }

  /** Instances that were heard lately. */
  alive(): readonly Heartbeat[] {
    return [...this.beats.values()].filter((beat) => !this.isGone(beat.incarnation));
  }

  /** Says that this instance is gone, so that nobody has to wait for its silence. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.cancelBeat?.();
    await this.say({ ...this.describe(), partitions: {}, ended: true });
    await this.reader?.close();
  }

  private hear(records: readonly LogRecord[]): void {
    const nowMs = this.ports.clock.nowMs();
    for (const record of records) {
      if (record.value === null) continue;
      try {
        const beat = this.ports.codec.decode(record.value).body as Heartbeat;
        if (beat.incarnation === this.incarnation && !this.hearing(nowMs))
          this.hearingSinceMs = nowMs;
        this.heardAtMs.set(beat.incarnation, nowMs);
        this.beats.set(beat.incarnation, beat);
      } catch (thrown) {
        this.ports.logger.debug(
          { error: toError(thrown).message },
          'foreign record on the presence topic',
        );
      }
    }
    this.forget(nowMs);
  }

  private forget(nowMs: number): void {
    for (const [incarnation, atMs] of this.heardAtMs) {
      if (nowMs - atMs < limits.presenceMs * 100) continue;
      this.heardAtMs.delete(incarnation);
      this.beats.delete(incarnation);
    }
  }

  private beat(): void {
    if (this.stopped) return;
    void this.say(this.describe());
    this.onChange();
    this.cancelBeat = this.ports.clock.after(limits.presenceMs / 5, () => this.beat());
  }

  private async say(beat: Heartbeat): Promise<void> {
    const record = {
      key: this.incarnation,
      headers: { ce_type: 'longrein.presence.v1', ce_id: `${this.incarnation}/${beat.atMs}` },
      value: this.ports.codec.encode('presence', beat),
    };
    try {
      await this.ports.log.append({ topic: presenceTopic, partition: 0 }, [record]);
    } catch (thrown) {
      this.ports.logger.debug({ error: toError(thrown).message }, 'heartbeat not acknowledged');
    }
  }
}
