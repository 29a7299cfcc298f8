import { type Draft, event, type InputEventType, type SeenEvent } from '../../schemas/event.ts';
import { sinksTopic } from '../../schemas/topics.ts';
import { LongreinError, toError } from '../chassis/errors.ts';
import type { Host } from '../chassis/host/host.ts';
import type { Lanes } from '../chassis/host/lanes.ts';
import { whileAway } from '../chassis/host/patience.ts';
import type { EffectJob, HostedService, HostPorts } from '../chassis/host/ports.ts';
import { partitionOf } from '../chassis/log/partition.ts';
import { type AnyLogic, addressOf } from '../chassis/protocol/service-logic.ts';
import type { EventTable } from './clickhouse.ts';
import {
  eventStoreLogic,
  type FixedRange,
  type SinkFacts,
  type SinkState,
  serviceName,
  sinkSession,
  tokenOf,
} from './decide.ts';
import { type FailedSession, type KeepFailed, keepAll } from './failed-sessions.ts';
import { createInserter, type Inserter } from './insertion.ts';
import { measureStore, RetentionAlarm, type SourceLag, storeHealth } from './lag.ts';
import { openSinks } from './openings.ts';
import { Pace } from './pace.ts';
import { createPreparation, type Preparation } from './preparation.ts';
import { Sources } from './sources.ts';
import { storedTopics } from './stored-topics.ts';

export type EventStoreOptions = Readonly<{
  ports: HostPorts;
  /** The generations of the lanes, where there may be more than the first. */
  lanes?: Lanes;
  table: EventTable;
  /**
   * Brings the database to the shape of this release. Called again while it fails with a retryable
   * LongreinError.
   */
  prepare(): Promise<void>;
  /** The database can never be used by this release: the process should end with this message. */
  onFatal(error: LongreinError): void;
  /** Frees what the table was made of. */
  close?(): Promise<void>;
  /** Keeps what people will want to see of a session that failed; nothing is kept where nobody does. */
  keepFailed?: KeepFailed;
}>;

export type EventStore = HostedService &
  Readonly<{
    /** The host that runs this service. Before it is started. */
    attach(host: Pick<Host, 'nudge' | 'status'>): void;
    /**
     * Prepares the database and opens the logs of ranges. Waits for a database that is away only a
     * moment: the rest goes on when it comes. Throws what `prepare` throws for good,
     * `CLICKHOUSE_SCHEMA_NEWER` for one.
     */
    start(): Promise<void>;
    /** What is read and not stored, for each partition that this process stores. */
    lag(): readonly SourceLag[];
    /** Why it is not ready, and how far it is behind, in words. */
    health(): Readonly<{ reasons: readonly string[]; notes: readonly string[] }>;
    /** Fixes no more ranges: the host is about to stop. */
    drain(): void;
    /** The host calls it when the last insert has ended. */
    stop(): Promise<void>;
  }>;

const sweepMs = 1_000;
/** Sweeps between two writings of marks. */
const sweepsPerMark = 5;
/** Sweeps between two looks at the identity of the topics. */
const sweepsPerLook = 10;

/**
 * The event store as a host runs it: one session of `longrein.sinks` for each partition that is
 * stored.
 */
export function createEventStore(options: EventStoreOptions): EventStore {
  return new EventStoreService(options);
}

class EventStoreService implements EventStore {
  readonly logic = eventStoreLogic as unknown as AnyLogic;
  readonly topics = [sinksTopic];
  readonly keepsLetters = [sinksTopic];
  readonly alsoReads = storedTopics
    .filter(({ kind }) => kind === 'session-log')
    .map(({ name }) => name);
  readonly effects = {
    jobOf: (claim: SeenEvent, state: unknown): EffectJob | undefined =>
      claim.type === 'range.fixed' ? this.job(claim, state as SinkState) : undefined,
    mayRun: (state: unknown, call: string): boolean => !isStored(state as SinkState, call),
  };
  private readonly options: EventStoreOptions;
  private readonly sources: Sources;
  private readonly inserter: Inserter;
  /** Session -> the claim that this process runs, or has run and written the outcome of. */
  private readonly running = new Map<string, string>();
  private host: Pick<Host, 'nudge' | 'status'> | undefined;
  private sinkPartitions = 1;
  private cancelSweep: (() => void) | undefined;
  private stopMeasuring: (() => void) | undefined;
  private readonly alarm: RetentionAlarm;
  private sweeps = 0;
  /** Topics that were made again, when logs of ranges were opened last. */
  private makings = '';
  private draining = false;
  private stopped = false;
  private readonly preparation: Preparation;

  constructor(options: EventStoreOptions) {
    this.options = options;
    const { ports, table } = options;
    const { clock, logger } = ports;
    this.alarm = new RetentionAlarm(ports);
    this.preparation = createPreparation(options);
    const { prepared } = this.preparation;
    const pace = new Pace(() => clock.nowMs());
    const onInserted = (durationMs: number): void => pace.inserted(durationMs);
    this.inserter = createInserter({ table, clock, logger, prepared, onInserted });
    this.sources = new Sources({
      ports,
      pace,
      onDue: (session) => this.host?.nudge(sinksTopic, session),
    });
  }

  attach(host: Pick<Host, 'nudge' | 'status'>): void {
    this.host = host;
  }

  async start(): Promise<void> {
    const { ports } = this.options;
    await this.preparation.begin();
    await this.sources.start();
    this.sinkPartitions = await this.openSinks();
    this.options.lanes?.onChange(() => this.openMore());
    this.stopMeasuring = measureStore(ports, () => this.lag());
    this.sweep();
  }

  private openSinks(): Promise<number> {
    const { ports, lanes } = this.options;
    const names = storedTopics.flatMap(({ name }) => lanes?.topicsOf(name) ?? [name]);
    this.makings = this.sources.makings.text;
    return openSinks(ports, names, (topic) => this.sources.makings.of(topic));
  }

  /** The lanes have more topics from now on. */
  private openMore(): void {
    const { ports } = this.options;
    const patience = { ports, what: 'opening of new partitions', wanted: () => !this.stopped };
    whileAway(patience, () => this.openSinks()).catch((thrown: unknown) => {
      const fields = { error: toError(thrown).message };
      ports.logger.error(fields, 'new partitions are not stored until the next start');
    });
  }

  lag(): readonly SourceLag[] {
    return this.sources.lag();
  }

  health(): ReturnType<EventStore['health']> {
    return storeHealth(this.lag(), this.preparation.waits());
  }

  drain(): void {
    this.draining = true;
  }

  async stop(): Promise<void> {
    if (this.stopped) return;
    this.stopped = true;
    this.cancelSweep?.();
    this.stopMeasuring?.();
    this.preparation.stop();
    await this.sources.stop();
    await this.options.close?.();
  }

  facts(given: unknown): { facts: SinkFacts } {
    const state = given as SinkState;
    const { topic, next, needFrom, fixed } = state;
    const nothing = { cut: next, rows: 0, waitedMs: 0, needFrom, abandoned: '' };
    if (topic === '' || this.draining) return { facts: nothing };
    const found = this.sources.cut(state);
    if (fixed !== null) return { facts: { ...nothing, abandoned: this.abandoned(state, fixed) } };
    if (found === undefined) return { facts: nothing };
    const { cut, rows, readyAtMs } = found;
    const waitedMs = Math.max(0, this.options.ports.clock.nowMs() - readyAtMs);
    return { facts: { cut, rows, waitedMs, needFrom: found.needFrom, abandoned: '' } };
  }

  /**
   * A claim that this process does not run. It may be alive elsewhere; writing the range twice at
   * once is harmless, because both write the same rows under the same name, and waiting for its end
   * is not needed.
   */
  private abandoned({ topic, partition, made }: SinkState, fixed: FixedRange): string {
    const session = sinkSession(topic, partition, made);
    return this.running.get(session) === fixed.claim ? '' : fixed.claim;
  }

  private job(seen: SeenEvent<'range.fixed'>, state: SinkState): EffectJob {
    const { call, attempt, deadlineAtMs, topic, partition, from, to } = seen.data;
    const { clock } = this.options.ports;
    const session = sinkSession(topic, partition, state.made);
    const stored = isStored(state, call);
    // A claim of the newest range; one that came too late has nothing to run.
    if (!stored) this.running.set(session, addressOf(seen));
    return {
      call,
      deadlineAtMs,
      run: async ({ signal }) => {
        const startedMs = clock.nowMs();
        let failed: readonly FailedSession[] = [];
        const read = async () => {
          const rows = await this.sources.rows(state, { from, to });
          failed = this.sources.failed(state, { from, to });
          return rows;
        };
        const token = tokenOf(state, { from, to });
        const insertion = { token, rows: read, signal, again: attempt > 1 };
        const rows = await this.inserter.store(insertion).catch(undefinedAtEnd);
        // The process ends before it is stored: whoever owns the log next fixes the same range again.
        if (rows === undefined) return undefined;
        await keepAll(this.options.ports, this.options.keepFailed, failed);
        return outcome(call, { attempt, rows, durationMs: clock.nowMs() - startedMs });
      },
      notStarted: () => outcome(stored ? call : `${call}/not-started`, { ...nothingDone, attempt }),
    };
  }

  private sweep(): void {
    if (this.stopped) return;
    const { clock, logger } = this.options.ports;
    this.cancelSweep = clock.after(sweepMs, () => this.sweep());
    const status = this.host?.status().partitions ?? [];
    const owned = new Set(
      status.filter((one) => one.owned.includes(serviceName)).map(({ name }) => name),
    );
    this.sources.closeExcept((session) =>
      owned.has(`${sinksTopic}/${partitionOf(session, this.sinkPartitions)}`),
    );
    if (this.makings !== this.sources.makings.text) this.openMore();
    this.sweeps += 1;
    if (this.sweeps % sweepsPerMark !== 0) return;
    if (this.sweeps % sweepsPerLook === 0) void this.sources.checkTopics();
    this.alarm.look(this.lag());
    this.sources.writeMarks().catch((thrown: unknown) => {
      logger.warn({ error: toError(thrown).message }, 'marks not written; later');
    });
  }
}

function undefinedAtEnd(thrown: unknown): undefined {
  if (thrown instanceof LongreinError && thrown.code === 'RANGE_NOT_STORED') return undefined;
  throw thrown;
}

const nothingDone = { rows: 0, durationMs: 0 } as const;

/** A call is `topic/partition/from`; what lies below `next` is stored, whoever did it. */
const isStored = (state: SinkState, call: string): boolean =>
  Number(call.slice(call.lastIndexOf('/') + 1)) < state.next;

/**
 * The chassis puts the claim in. There is no outcome that says "not stored": one with a call that
 * nobody opened is ignored by everyone, and the range stays fixed until somebody stores it.
 */
const outcome = (
  call: string,
  done: { attempt: number; rows: number; durationMs: number },
): Draft<InputEventType> => event('range.stored', { call, claim: '', ...done });
