import { goalsTopic, keysTopic } from '../../schemas/topics.ts';
import type { Catalog } from '../chassis/catalog/catalog.ts';
import { toError } from '../chassis/errors.ts';
import type { Host } from '../chassis/host/host.ts';
import { whileAway } from '../chassis/host/patience.ts';
import type { HostPorts } from '../chassis/host/ports.ts';
import type { LogRecord, Membership, PartitionName, Reader } from '../chassis/log/port.ts';
import { type GoalInput, goalInput, type LaneOf } from './goal-input.ts';
import { type ParsedGoal, parseGoal } from './parse-goal.ts';

export type IngestOptions = Readonly<{
  ports: HostPorts;
  catalog: Catalog;
  housekeepingMs: number;
  laneOf: LaneOf;
  onFatal: (error: Error) => void;
}>;

type Position = { next: number; acknowledged: number; waiting: Set<number> };

/** So long a goal waits before its keys are asked for again. */
const keysAgainMs = 2_000;

/** The name under which positions on the goals topic are kept among the watermarks. */
const markName = 'intake-goals';

/**
 * Reads the goals topic and writes each record as an input into its goal log. At least once: input ids make repeats
 * harmless, so a position only moves past records whose input the broker has.
 */
export class GoalIngest {
  private readonly positions = new Map<number, Position>();
  private readonly options: IngestOptions;
  private wanted: ReadonlySet<number> = new Set();
  private reader: Reader | undefined;
  private membership: Membership | undefined;
  private host: Host | undefined;
  private cancelTick: (() => void) | undefined;
  private stopped = false;

  constructor(options: IngestOptions) {
    this.options = options;
  }

  async start(host: Host): Promise<void> {
    this.host = host;
    const { log } = this.options.ports;
    this.reader = await log.reader({
      onRecords: (at, records) => this.take(at, records),
      onPartitionError: (at, error) =>
        this.options.ports.logger.error({ ...at, error: error.message }, 'goals cannot be read'),
      onInterruption: () => undefined,
    });
    this.membership = await log.join('longrein.intake.goals', [goalsTopic], {
      onAssignment: (partitions) => this.assign(partitions),
      onCrash: (error) => this.options.onFatal(error),
    });
    this.tick();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.cancelTick?.();
    await this.save().catch((thrown: unknown) => this.warn(thrown));
    await this.membership?.leave();
    await this.reader?.close();
  }

  private assign(partitions: readonly PartitionName[]): void {
    this.wanted = new Set(partitions.map((at) => at.partition));
    for (const partition of this.positions.keys()) {
      if (this.wanted.has(partition)) continue;
      this.reader?.unassign({ topic: goalsTopic, partition });
      this.positions.delete(partition);
    }
    for (const at of partitions) {
      if (this.positions.has(at.partition)) continue;
      const wanted = (): boolean => this.wanted.has(at.partition) && !this.stopped;
      const patience = { ports: this.options.ports, what: `reading of ${goalsTopic}`, wanted };
      whileAway(patience, () => this.open(at)).catch((thrown: unknown) => this.warn(thrown));
    }
  }

  private async open(at: PartitionName): Promise<void> {
    const mark = await this.host?.externalMark(markName, at);
    const bounds = (await this.options.ports.log.bounds(goalsTopic)).get(at.partition);
    const low = bounds?.low ?? 0;
    const next = Math.max(low, mark ?? low);
    if (!this.wanted.has(at.partition) || this.positions.has(at.partition)) return;
    this.positions.set(at.partition, { next, acknowledged: next, waiting: new Set() });
    this.reader?.assign(at, next);
  }

  private take(at: PartitionName, records: readonly LogRecord[]): void {
    const position = this.positions.get(at.partition);
    if (position === undefined) return;
    for (const record of records) {
      position.next = record.offset + 1;
      position.waiting.add(record.offset);
      this.write(record, position);
    }
  }

  private write(read: LogRecord, position: Position): void {
    const { catalog } = this.options;
    const { codec, clock } = this.options.ports;
    // A producer's clock may be fast, or none at all: nothing in a session may be later than now, or without a time.
    const nowMs = clock.nowMs();
    const timestampMs = read.timestampMs < 0 ? nowMs : Math.min(read.timestampMs, nowMs);
    const record = { ...read, timestampMs };
    const parsed = parseGoal(record, { codec, catalog });
    const input = this.keyed(() => goalInput(record, parsed, this.options.laneOf), parsed.kind);
    if (input === undefined) {
      clock.after(keysAgainMs, () => this.write(read, position));
      return;
    }
    const traceparent = this.options.ports.tracer.step('goal received', {
      parent: record.headers['traceparent'] ?? '',
      seed: input.id,
      attributes: () => ({ 'longrein.goal_log': input.body.session }),
    });
    this.host?.appendInput(keysTopic, { ...input, traceparent }, () => {
      position.waiting.delete(record.offset);
      position.acknowledged = Math.min(position.next, ...position.waiting);
    });
  }

  /**
   * The input, once its log has a key where its tenant has: contents get their digests under the key's salt. Undefined
   * while the keys are away: what a tenant wants sealed is not written open.
   */
  private keyed(make: () => GoalInput, kind: ParsedGoal['kind']): GoalInput | undefined {
    const { keys, logger } = this.options.ports;
    const input = make();
    if (keys?.enabled !== true || (kind !== 'goal' && kind !== 'problem')) return input;
    const { session, tenant } = input.body;
    try {
      return keys.begin(session, tenant) ? make() : input;
    } catch (thrown) {
      const { message } = toError(thrown);
      logger.error({ session, tenant, error: message }, 'goal waits for the keys of its tenant');
      return undefined;
    }
  }

  private tick(): void {
    if (this.stopped) return;
    const { clock, logger } = this.options.ports;
    this.cancelTick = clock.after(this.options.housekeepingMs, () => this.tick());
    this.save().catch((thrown: unknown) => {
      logger.warn(
        { error: toError(thrown).message },
        'positions of the goals topic not written; later',
      );
    });
  }

  private readonly saved = new Map<number, number>();

  private async save(): Promise<void> {
    for (const [partition, { acknowledged }] of this.positions) {
      if ((this.saved.get(partition) ?? -1) >= acknowledged) continue;
      await this.host?.writeExternalMark(markName, { topic: goalsTopic, partition }, acknowledged);
      this.saved.set(partition, acknowledged);
      await this.membership?.commit([{ topic: goalsTopic, partition, offset: acknowledged }]);
    }
  }

  private warn(thrown: unknown): void {
    this.options.ports.logger.warn({ error: toError(thrown).message }, 'goal ingest');
  }
}
