import { limits } from '../../../schemas/limits.ts';
import { presenceTopic } from '../../../schemas/topics.ts';
import { toError } from '../errors.ts';
import { AppendError } from '../log/append-error.ts';
import type { LogRecord, Reader } from '../log/port.ts';
import type { Halt } from './halts.ts';
import { HearingTime } from './hearing-time.ts';
import { type Listings, list } from './listings.ts';
import { within } from './patience.ts';
import type { HostPorts } from './ports.ts';
import type { StandsBy } from './standing-by.ts';
import type { Named, Suspect, Trace } from './suspects.ts';

/** Service -> epoch, of one partition. */
export type OwnedEpochs = Readonly<Record<string, number>>;

/** What an instance says of itself. */
export type Heartbeat = Readonly<{
  incarnation: string;
  host: string;
  services: readonly string[];
  /** `topic/partition` -> the services that it owns and reads there, with their epochs. */
  partitions: Readonly<Record<string, OwnedEpochs>>;
  /** `topic/partition` -> why it is not worked on there, and what mends that. */
  halted?: Readonly<Record<string, Halt>>;
  /** `topic/partition` -> records there that nobody reads, counted since it began to read; only where there are some. */
  ignored?: Readonly<Record<string, number>>;
  release: string;
  /** `topic/partition` -> what it leaves to a newer release there. */
  standsBy?: Readonly<Record<string, StandsBy>>;
  /** `topic/partition` -> decisions that it is about to make, and that may kill it (DESIGN 3.14). */
  deciding?: Readonly<Record<string, readonly Named[]>>;
  /** `topic/partition` -> decisions that may have killed others, and are still to be made. */
  suspects?: Readonly<Record<string, readonly Suspect[]>>;
  /** Counts the heartbeats of an instance: they may overtake each other on their way. */
  count?: number;
  atMs: number;
  /** The last one: the instance ends in good order, and nothing of it runs any more. */
  ended?: true;
}>;

/** What an instance said last, and how long ago, in milliseconds of hearing. */
export type Silence = Readonly<{ beat: Heartbeat; silentMs: number }>;

/** One epoch of one service in one partition (`topic/partition`), as its owner lists it. */
export type ListedEpoch = Readonly<{
  incarnation: string;
  partition: string;
  service: string;
  epoch: number;
}>;

type Instance = {
  beat: Heartbeat;
  /** By the clock, and in time of hearing. */
  atMs: number;
  heardMs: number;
  readonly listings: Listings;
};

/** How often a heartbeat goes out, and facts that are in no log are looked at. */
const looksMs = limits.presenceMs / 5;

/** So many heartbeats before the newest are read at the start, for instances that have just ended. */
const recentBeats = 1_000;

/**
 * Heartbeats of all instances (DESIGN 3.1). An instance counts as gone when it was not heard for `presenceMs`, and its
 * epoch as abandoned when it was not listed for so long; both in time of hearing only.
 */
export class Presence {
  private readonly instances = new Map<string, Instance>();
  private readonly time = new HearingTime();
  private reader: Reader | undefined;
  private cancelBeat: (() => void) | undefined;
  private startedAtMs = Number.POSITIVE_INFINITY;
  private lookedAtMs = Number.NEGATIVE_INFINITY;
  private stopped = false;
  private refused = false;
  private said = 0;
  private turn: Promise<unknown> = Promise.resolve();
  /** Until when nobody waits for a heartbeat of ours: the last one that was waited for did not arrive. */
  private unheardUntilMs = Number.NEGATIVE_INFINITY;

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
    this.startedAtMs = this.ports.clock.nowMs();
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
    const instance = this.instances.get(incarnation);
    if (instance?.beat.ended === true) return true;
    return this.time.totalMs - (instance?.heardMs ?? 0) > limits.presenceMs;
  }

  /** In words, where nothing of this instance was heard for long: what it writes, everyone reads. */
  unheard(): readonly string[] {
    const heardMs = this.instances.get(this.incarnation)?.atMs ?? this.startedAtMs;
    const silentMs = this.ports.clock.nowMs() - heardMs;
    if (silentMs <= 3 * limits.presenceMs) return [];
    const seconds = Math.round(silentMs / 1_000);
    return [
      `none of its heartbeats was read for ${seconds} s: the broker is away, or refuses them`,
    ];
  }

  /** This moment in time of hearing, for `unlistedMs`. */
  markMs(): number {
    return this.time.mark(this.ports.clock.nowMs());
  }

  /**
   * For how long its owner has not listed this epoch, in milliseconds of hearing since `sinceMs` at most. What was said
   * before that does not count. Infinite for an instance that has ended.
   */
  unlistedMs(owned: ListedEpoch, sinceMs: number): number {
    const instance = this.instances.get(owned.incarnation);
    if (instance?.beat.ended === true) return Number.POSITIVE_INFINITY;
    const listed = instance?.listings.get(owned.partition)?.get(owned.service);
    const lastMs = listed?.epoch === owned.epoch ? listed.heardMs : 0;
    return this.time.totalMs - Math.max(sinceMs, lastMs);
  }

  /** Instances that were heard lately. */
  alive(): readonly Heartbeat[] {
    const beats = [...this.instances.values()].map(({ beat }) => beat);
    return beats.filter((beat) => !this.isGone(beat.incarnation));
  }

  /** All that were heard, this one too, but for those that ended in good order. */
  silences(): readonly Silence[] {
    const running = [...this.instances.values()].filter(({ beat }) => beat.ended !== true);
    const { totalMs } = this.time;
    return running.map(({ beat, heardMs }) => ({ beat, silentMs: totalMs - heardMs }));
  }

  /** What all others said last of a partition (`topic/partition`); heard after `sinceMs` of hearing, they are alive. */
  tracesOf(partition: string, sinceMs: number): readonly Trace[] {
    return [...this.instances.values()].flatMap((instance) => {
      const { beat, heardMs } = instance;
      const { incarnation, ended, deciding = {}, suspects = {} } = beat;
      if (incarnation === this.incarnation) return [];
      const silent = this.isGone(incarnation) ? 'dead' : 'doubtful';
      const is = ended === true ? 'ended' : heardMs > sinceMs ? 'alive' : silent;
      const said = { deciding: deciding[partition] ?? [], suspects: suspects[partition] ?? [] };
      return [{ incarnation, is, ...said } as const];
    });
  }

  /** One of all partitions at a time: what an instance is deciding must not be named beside other things. */
  inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.turn.then(work);
    this.turn = turn.catch(() => undefined);
    return turn;
  }

  /** Says now what there is to say. Whether the log has it; false where it does not answer for too long. */
  async announce(): Promise<boolean> {
    const { clock } = this.ports;
    if (this.stopped || clock.nowMs() < this.unheardUntilMs) return false;
    const heard = await within(clock, limits.presenceMs, (wanted) => this.insist(wanted));
    if (heard !== true) this.unheardUntilMs = clock.nowMs() + 2 * limits.presenceMs;
    return heard === true;
  }

  private async insist(wanted: () => boolean): Promise<boolean> {
    for (let waitMs = 20; !(await this.say(this.describe())); waitMs *= 2) {
      if (!wanted() || this.stopped || this.refused) return false;
      await new Promise<void>((resolve) => {
        this.ports.clock.after(Math.min(1_000, waitMs), resolve);
      });
    }
    return true;
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
    const heardMs = this.time.totalMs;
    for (const record of records) {
      if (record.value === null) continue;
      try {
        this.take(this.ports.codec.decode(record.value).body as Heartbeat, nowMs);
      } catch (thrown) {
        this.ports.logger.debug(
          { error: toError(thrown).message },
          'foreign record on the presence topic',
        );
      }
    }
    this.forget(nowMs);
    // What is known of others changes when this instance hears itself: nothing is gained by waiting for the next beat.
    if (this.time.totalMs > heardMs && nowMs - this.lookedAtMs >= looksMs / 2)
      this.ports.clock.after(0, () => this.look());
  }

  private look(): void {
    if (this.stopped) return;
    this.lookedAtMs = this.ports.clock.nowMs();
    this.onChange();
  }

  private take(beat: Heartbeat, nowMs: number): void {
    if (beat.incarnation === this.incarnation) this.time.heard(nowMs);
    const heardMs = this.time.mark(nowMs);
    const known = this.instances.get(beat.incarnation);
    const listings: Listings = known?.listings ?? new Map();
    list(listings, beat, heardMs);
    const overtaken = known !== undefined && (known.beat.count ?? 0) > (beat.count ?? 0);
    const newest = overtaken ? known.beat : beat;
    this.instances.set(beat.incarnation, { beat: newest, atMs: nowMs, heardMs, listings });
  }

  private forget(nowMs: number): void {
    for (const [incarnation, { atMs }] of this.instances) {
      if (nowMs - atMs >= limits.presenceMs * 100) this.instances.delete(incarnation);
    }
  }

  private beat(): void {
    if (this.stopped) return;
    void this.say(this.describe());
    // Also where nothing is heard: the clock goes on.
    if (this.ports.clock.nowMs() - this.lookedAtMs >= looksMs) this.look();
    this.cancelBeat = this.ports.clock.after(looksMs, () => this.beat());
  }

  /** Whether the log has it. */
  private async say(described: Heartbeat): Promise<boolean> {
    this.said += 1;
    const beat = { ...described, count: this.said };
    const record = {
      key: this.incarnation,
      headers: { ce_type: 'longrein.presence.v1', ce_id: `${this.incarnation}/${beat.atMs}` },
      value: this.ports.codec.encode('presence', beat),
    };
    try {
      await this.ports.log.append({ topic: presenceTopic, partition: 0 }, [record]);
      this.refused = false;
      return true;
    } catch (thrown) {
      this.unsaid(toError(thrown));
      return false;
    }
  }

  /** A heartbeat that is lost is nothing; one that is refused makes everyone take this instance for gone. */
  private unsaid(error: Error): void {
    const alarm = error instanceof AppendError && error.failure === 'refused' && !this.refused;
    this.refused ||= alarm;
    const { logger } = this.ports;
    if (alarm) logger.error({ error: error.message }, 'heartbeat refused: others take over');
    else logger.debug({ error: error.message }, 'heartbeat not acknowledged');
  }
}
