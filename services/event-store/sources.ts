import { firstGeneration, type TopicDefinition } from '../../schemas/topics.ts';
import { InvariantError, LongreinError, toError } from '../chassis/errors.ts';
import type { HostPorts } from '../chassis/host/ports.ts';
import { Watermarks } from '../chassis/host/watermarks.ts';
import type { LogRecord, PartitionName, Reader } from '../chassis/log/port.ts';
import { type SinkState, serviceName, sinkSession, storedName } from './decide.ts';
import type { FailedSession } from './failed-sessions.ts';
import type { SourceLag } from './lag.ts';
import { Makings } from './makings.ts';
import { createMemoryBudget } from './memory-budget.ts';
import type { Pace } from './pace.ts';
import type { Cut } from './ready-rows.ts';
import type { EventRow } from './row.ts';
import { Source } from './source.ts';
import { isCut, sourceStart } from './source-start.ts';
import { storedTopics } from './stored-topics.ts';

export type SourcesParts = Readonly<{
  ports: HostPorts;
  pace: Pace;
  /** The session of this partition should decide again. */
  onDue: (session: string) => void;
}>;

type Entry = {
  state: SinkState;
  source: Source | undefined;
  problem: Readonly<{ message: string; sinceMs: number }> | undefined;
  gone: boolean;
  markedAt: number;
  /** Resolves when the source is there. */
  opened: Promise<Source>;
};

const retryMs = 2_000;
/** Rows wait for company anyhow: one fetch brings what would else be one for each append. */
const readRestMs = 50;

/** The sources that this process reads, each as long as it owns the log of its ranges. */
export class Sources {
  private readonly parts: SourcesParts;
  private readonly watermarks: Watermarks;
  readonly makings: Makings;
  private readonly budget = createMemoryBudget();
  private readonly entries = new Map<string, Entry>();
  private readonly started: Promise<Reader>;
  private setReader: (reader: Reader) => void = () => undefined;
  private reader: Reader | undefined;
  private stopped = false;

  constructor(parts: SourcesParts) {
    this.parts = parts;
    this.watermarks = new Watermarks(parts.ports);
    this.makings = new Makings(parts.ports, this.watermarks);
    this.started = new Promise((resolve) => {
      this.setReader = resolve;
    });
  }

  async start(): Promise<void> {
    await this.watermarks.start();
    const { log, logger } = this.parts.ports;
    const handlers = {
      onRecords: (at: PartitionName, records: readonly LogRecord[]) =>
        this.entryAt(at)?.source?.take(records),
      onPartitionError: (at: PartitionName, error: Error) =>
        this.broken(sinkSession(at.topic, at.partition), error),
      onInterruption: (error: Error) =>
        logger.warn({ error: error.message }, 'broker cannot be read; waiting'),
    };
    this.reader = await log.reader(handlers, { restMs: readRestMs });
    this.setReader(this.reader);
  }

  async stop(): Promise<void> {
    this.stopped = true;
    for (const session of [...this.entries.keys()]) this.close(session);
    await this.watermarks.stop();
    await this.reader?.close();
  }

  /** What could be fixed next in this state; starts to read where nobody does yet. */
  cut(state: SinkState): Cut | undefined {
    if (this.makings.isOver(state)) return undefined;
    const entry = this.entryOf(state);
    entry.state = state;
    entry.source?.release(state.next);
    return entry.source?.cut();
  }

  /** The rows of a fixed range, as soon as they are read. */
  async rows(state: SinkState, range: { from: number; to: number }): Promise<readonly EventRow[]> {
    if (this.makings.isOver(state)) return this.makings.givenUp(state, range);
    const source = await this.entryOf(state).opened;
    return source.rows(range.from, range.to);
  }

  /** Sessions that failed in a range whose rows were read here. */
  failed(state: SinkState, { from, to }: { from: number; to: number }): readonly FailedSession[] {
    return this.entryOf(state).source?.failed(from, to) ?? [];
  }

  /** Stops reading what nobody asks for. */
  closeExcept(owned: (session: string) => boolean): void {
    for (const [session, { state, source }] of this.entries) {
      const needed = owned(session) || source?.isWanted === true;
      if (this.makings.isOver(state) || !needed) this.close(session);
    }
  }

  lag(): readonly SourceLag[] {
    const nowMs = this.parts.ports.clock.nowMs();
    return [...this.entries.values()].map(({ state, source, problem }) => {
      const { topic, partition, next } = state;
      const { rows, oldestAtMs } = source?.waiting ?? { rows: 0, oldestAtMs: problem?.sinceMs };
      const oldestMs = oldestAtMs === undefined ? 0 : Math.max(0, nowMs - oldestAtMs);
      const said = problem === undefined ? {} : { problem: problem.message };
      return { topic, partition, rows, next, oldestMs, ...said };
    });
  }

  /**
   * Writes how far each session log is needed here, so that the next start is short and nothing is
   * deleted before it is stored. Never above the marks of the hosts: they vouch that the sessions
   * closed below are remembered.
   */
  async writeMarks(): Promise<void> {
    const moved = [...this.entries.values()].flatMap((entry) => this.markOf(entry));
    await this.watermarks.write(
      moved.map(({ mark }) => mark),
      [],
    );
    for (const { entry, mark } of moved) entry.markedAt = mark.offset;
  }

  private markOf(entry: Entry) {
    const { source, state } = entry;
    if (source === undefined || kindOf(state.topic) !== 'session-log') return [];
    const others = this.watermarks.at(source.name).filter(({ service }) => service !== serviceName);
    const vouched = Math.max(0, ...others.map(({ offset }) => offset));
    const place = source.placeAtOrBefore(Math.min(state.needFrom, vouched));
    if (place.offset <= entry.markedAt) return [];
    return [{ entry, mark: { service: serviceName, ...source.name, ...place } }];
  }

  /** Stops reading topics that are not those that were opened. */
  async checkTopics(): Promise<void> {
    for (const topic of new Set([...this.entries.values()].map(({ state }) => state.topic))) {
      const error = await this.makings.complaint(topic);
      if (error === undefined) continue;
      for (const [session, { state, source }] of this.entries)
        if (state.topic === topic && source !== undefined) this.broken(session, error);
    }
  }

  private entryAt(at: PartitionName): Entry | undefined {
    return this.entries.get(this.makings.sessionAt(at));
  }

  private entryOf(state: SinkState): Entry {
    const session = sinkSession(state.topic, state.partition, state.made);
    const known = this.entries.get(session);
    if (known !== undefined) return known;
    const opened = new Promise<Source>(() => undefined);
    const nothing = { source: undefined, problem: undefined, gone: false, markedAt: 0 };
    const entry: Entry = { ...nothing, state, opened };
    this.entries.set(session, entry);
    entry.opened = this.open(session, entry);
    entry.opened.catch(() => undefined);
    return entry;
  }

  /** Opens the source, again and again until it can be. Rejects when the entry is closed. */
  private async open(session: string, entry: Entry): Promise<Source> {
    for (;;) {
      if (entry.gone) throw closedHere(session);
      try {
        return await this.tryOpen(session, entry);
      } catch (thrown) {
        this.noteProblem(entry, toError(thrown));
        this.complain(entry, toError(thrown));
      }
      await new Promise<void>((resolve) => {
        this.parts.ports.clock.after(retryMs, resolve);
      });
    }
  }

  private async tryOpen(session: string, entry: Entry): Promise<Source> {
    const reader = await this.started;
    await this.watermarks.current();
    const { topic, partition, made } = entry.state;
    const name = { topic, partition };
    await this.makings.identify(topic);
    const bounds = (await this.parts.ports.log.bounds(topic)).get(partition);
    if (bounds === undefined) throw new InvariantError(`${topic}/${partition} does not exist`);
    if (this.makings.isOver(entry.state)) this.close(session);
    if (entry.gone) throw closedHere(session);
    const { state } = entry;
    // What a trim says of its place is as good as a mark.
    const trim = this.watermarks.trimAt(name);
    const trimmed = trim === undefined ? [] : [{ service: 'janitor', ...trim }];
    const marks = [...this.watermarks.at(name), ...trimmed];
    const closed = this.watermarks.closedAt(name);
    const bare = this.parts.ports.keys?.enabled === true;
    const from = { kind: kindOf(topic), state, bounds, marks, closed, bare };
    const start = sourceStart(from);
    if (isCut(from)) {
      const fields = { ...name, stored: state.next, low: bounds.low };
      this.parts.ports.logger.error(fields, 'records were deleted before they were stored');
    }
    const source = new Source(
      name,
      this.sourceParts(session, { reader, storedAs: storedName(topic, made) }),
      start,
    );
    entry.source = source;
    entry.problem = undefined;
    reader.assign(name, start.offset);
    return source;
  }

  /** Sources that have rows to store. */
  private get busy(): number {
    let busy = 0;
    for (const { source } of this.entries.values()) if ((source?.waiting.rows ?? 0) > 0) busy += 1;
    return busy;
  }

  private sourceParts(
    session: string,
    { reader, storedAs }: { reader: Reader; storedAs: string },
  ): ConstructorParameters<typeof Source>[1] {
    const { clock, logger } = this.parts.ports;
    return {
      storedAs,
      clock,
      logger,
      budget: this.budget,
      reading: reader,
      waitMs: (ended) => this.parts.pace.waitMs(this.busy, ended),
      onDue: () => this.parts.onDue(session),
      onBroken: (error) => this.broken(session, error),
    };
  }

  private complain({ state, ...entry }: Entry, error: Error): void {
    if (entry.gone || this.stopped) return;
    const { topic, partition } = state;
    const fix = error instanceof LongreinError ? { code: error.code, fix: error.fix } : {};
    const fields = { topic, partition, ...fix, error: error.message };
    const { logger } = this.parts.ports;
    // It is tried again soon: what mends itself needs nobody.
    if (error instanceof LongreinError && error.retryable)
      logger.warn(fields, 'partition cannot be read into the event store yet; again');
    else logger.error(fields, 'partition cannot be read into the event store');
  }

  private noteProblem(entry: Entry, { message }: Error): void {
    const sinceMs = entry.problem?.sinceMs ?? this.parts.ports.clock.nowMs();
    entry.problem = { message, sinceMs };
  }

  /** Reading cannot go on from here: closed, and opened again later. */
  private broken(session: string, error: Error): void {
    const entry = this.entries.get(session);
    if (entry === undefined) return;
    this.complain(entry, error);
    this.noteProblem(entry, error);
    entry.source?.close();
    entry.source = undefined;
    entry.opened = new Promise<void>((resolve) => {
      this.parts.ports.clock.after(retryMs, resolve);
    }).then(() => this.open(session, entry));
    entry.opened.catch(() => undefined);
  }

  private close(session: string): void {
    const entry = this.entries.get(session);
    if (entry === undefined) return;
    entry.gone = true;
    entry.source?.close();
    this.entries.delete(session);
  }
}

export const kindOf = (topic: string): TopicDefinition['kind'] =>
  storedTopics.find(({ name }) => name === firstGeneration(topic))?.kind ?? 'public';

const closedHere = (session: string): LongreinError =>
  new LongreinError('SOURCE_CLOSED', `${session} is not followed here any more`, {
    retryable: true,
  });
