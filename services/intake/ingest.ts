import { limits } from '../../schemas/limits.ts';
import { approvalsTopic, goalsTopic, keysTopic } from '../../schemas/topics.ts';
import type { Catalog } from '../chassis/catalog/catalog.ts';
import { toError } from '../chassis/errors.ts';
import type { Host } from '../chassis/host/host.ts';
import { whileAway } from '../chassis/host/patience.ts';
import type { HostPorts } from '../chassis/host/ports.ts';
import type { LogRecord, Membership, PartitionName, Reader } from '../chassis/log/port.ts';
import { answerInput, writeLetter } from './answer-input.ts';
import { type GoalInput, goalInput, type LaneOf } from './goal-input.ts';
import { type ParsedAnswer, parseAnswer } from './parse-answer.ts';
import { type ParsedGoal, parseGoal } from './parse-goal.ts';

export type IngestOptions = Readonly<{
  ports: HostPorts;
  catalog: Catalog;
  housekeepingMs: number;
  laneOf: LaneOf;
  onFatal: (error: Error) => void;
}>;

type Position = {
  readonly at: PartitionName;
  next: number;
  acknowledged: number;
  /** Offsets of records that have not passed yet, in order. */
  readonly waiting: Set<number>;
  /** What is on its way into the goal logs; what waits for keys is not. */
  readonly writing: Map<number, number>;
  writingBytes: number;
  paused: boolean;
};

/** So long a goal waits before its keys are asked for again. */
const keysAgainMs = 2_000;

const startAt = (at: PartitionName, next: number): Position => ({
  ...{ at, next, acknowledged: next, paused: false },
  ...{ waiting: new Set(), writing: new Map(), writingBytes: 0 },
});

const keyOf = ({ topic, partition }: PartitionName): string => `${topic}/${partition}`;

/** The name under which positions on a topic are kept among the watermarks. */
const markOf = (topic: string): string =>
  topic === goalsTopic ? 'intake-goals' : 'intake-approvals';

/**
 * Reads goals and the answers of people, and writes each record as an input into its goal log. At least once: input ids
 * make repeats harmless, so a position only moves past records whose input, or dead letter, the broker has. Of a backlog
 * only so much is read at a time as is written soon: the rest waits in the topic, not in memory.
 */
export class GoalIngest {
  private readonly positions = new Map<string, Position>();
  private readonly options: IngestOptions;
  private wanted: ReadonlySet<string> = new Set();
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
    this.membership = await log.join('longrein.intake.goals', [goalsTopic, approvalsTopic], {
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
    this.wanted = new Set(partitions.map(keyOf));
    for (const [key, { at }] of this.positions) {
      if (this.wanted.has(key)) continue;
      this.reader?.unassign(at);
      this.positions.delete(key);
    }
    for (const at of partitions) {
      if (this.positions.has(keyOf(at))) continue;
      const wanted = (): boolean => this.isWanted(at);
      const patience = { ports: this.options.ports, what: `reading of ${at.topic}`, wanted };
      whileAway(patience, () => this.open(at)).catch((thrown: unknown) => this.warn(thrown));
    }
  }

  private isWanted(at: PartitionName): boolean {
    return this.wanted.has(keyOf(at)) && !this.stopped;
  }

  private async open(at: PartitionName): Promise<void> {
    const mark = await this.host?.externalMark(markOf(at.topic), at);
    const bounds = (await this.options.ports.log.bounds(at.topic)).get(at.partition);
    const low = bounds?.low ?? 0;
    const next = Math.max(low, mark ?? low);
    if (!this.isWanted(at) || this.positions.has(keyOf(at))) return;
    this.positions.set(keyOf(at), startAt(at, next));
    this.reader?.assign(at, next);
  }

  private take(at: PartitionName, records: readonly LogRecord[]): void {
    const position = this.positions.get(keyOf(at));
    if (position === undefined) return;
    for (const record of records) {
      position.next = record.offset + 1;
      position.waiting.add(record.offset);
      this.write(record, position);
    }
    this.flow(position);
  }

  /** Reading waits while much is being written, and goes on before nothing is. */
  private flow(position: Position): void {
    const { at, writing, writingBytes, paused } = position;
    const share = Math.max(
      writing.size / limits.goalsWritingMax,
      writingBytes / limits.goalsWritingBytesMax,
    );
    if (paused ? share >= 1 / 2 : share < 1) return;
    position.paused = !paused;
    if (position.paused) this.reader?.pause(at);
    else this.reader?.resume(at);
  }

  private write(read: LogRecord, position: Position): void {
    const { clock } = this.options.ports;
    // A producer's clock may be fast, or none at all: nothing in a session may be later than now, or without a time.
    const nowMs = clock.nowMs();
    const timestampMs = read.timestampMs < 0 ? nowMs : Math.min(read.timestampMs, nowMs);
    const record = { ...read, timestampMs };
    if (position.at.topic !== goalsTopic) this.answer(record, position);
    else if (!this.goal(record, position))
      clock.after(keysAgainMs, () => this.write(read, position));
  }

  /** False where it has to wait for its keys. */
  private goal(record: LogRecord, position: Position): boolean {
    const { catalog, laneOf, ports } = this.options;
    const parsed = parseGoal(record, { codec: ports.codec, catalog });
    const input = this.keyed(
      () => goalInput(record, parsed, { laneOf, rules: catalog.goalRules }),
      parsed.kind,
    );
    if (input !== undefined) this.append(input, record, position);
    return input !== undefined;
  }

  private answer(record: LogRecord, position: Position): void {
    const parsed = parseAnswer(record, this.options.ports.codec);
    if (parsed.kind === 'request') this.passed(record, position);
    else if (parsed.kind === 'answer')
      this.append(answerInput(record, parsed.answer), record, position);
    else this.refuse(record, parsed, position);
  }

  /** Nobody's session is named: the dead letter is all that says so. */
  private refuse(
    record: LogRecord,
    problem: Extract<ParsedAnswer, { kind: 'problem' }>,
    position: Position,
  ): void {
    const { ports } = this.options;
    const { topic, partition, offset } = record;
    ports.logger.warn({ topic, partition, offset, ...problem.reason }, 'an answer cannot be read');
    const wanted = (): boolean => this.isWanted(position.at);
    const patience = { ports, what: 'a dead letter', wanted };
    whileAway(patience, () => writeLetter(ports, record, problem))
      .then(() => this.passed(record, position))
      .catch((thrown: unknown) => this.warn(thrown));
  }

  private append(input: GoalInput, record: LogRecord, position: Position): void {
    const traceparent = this.options.ports.tracer.step('goal received', {
      parent: record.headers['traceparent'] ?? '',
      seed: input.id,
      attributes: () => ({ 'longrein.goal_log': input.body.session }),
    });
    const bytes = record.value?.length ?? 0;
    position.writing.set(record.offset, bytes);
    position.writingBytes += bytes;
    this.host?.appendInput(keysTopic, { ...input, traceparent }, () =>
      this.passed(record, position),
    );
  }

  private passed({ offset }: LogRecord, position: Position): void {
    const { waiting, writing } = position;
    waiting.delete(offset);
    const [oldest = position.next] = waiting;
    position.acknowledged = oldest;
    position.writingBytes -= writing.get(offset) ?? 0;
    writing.delete(offset);
    if (position.paused) this.flow(position);
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
        'positions on public topics not written; later',
      );
    });
  }

  private readonly saved = new Map<string, number>();

  private async save(): Promise<void> {
    for (const [key, { at, acknowledged }] of this.positions) {
      if ((this.saved.get(key) ?? -1) >= acknowledged) continue;
      await this.host?.writeExternalMark(markOf(at.topic), at, acknowledged);
      this.saved.set(key, acknowledged);
      await this.membership?.commit([{ ...at, offset: acknowledged }]);
    }
  }

  private warn(thrown: unknown): void {
    this.options.ports.logger.warn({ error: toError(thrown).message }, 'goal ingest');
  }
}
