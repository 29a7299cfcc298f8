/**
 * What becomes of one goal, as it happens: events of its goal log and of its session, and the result. Reads outside
 * every consumer group.
 */
import type { SeenEvent } from '../../schemas/event.ts';
import { keysTopic, resultsTopic } from '../../schemas/topics.ts';
import { partitionOf } from '../chassis/log/partition.ts';
import type { Bounds, LogPort, LogRecord, PartitionName, Reader } from '../chassis/log/port.ts';
import { goalLogId } from '../chassis/protocol/ids.ts';
import { type Cursor, type Place, writeCursor } from './cursor.ts';
import { FeedBrokenError } from './errors.ts';
import { boundsOf, partitionsOf } from './publish.ts';
import { bodyOfRecord } from './record-body.ts';
import type { GoalResult } from './result.ts';
import { SessionFold } from './session-fold.ts';
import type { Listener, Tail } from './tail.ts';

/** `now`: only what is written after the feed was opened, for a goal that cannot have been asked for before. */
export type FeedStart = 'start' | 'now' | Cursor;

export type FeedOptions = Readonly<{
  log: LogPort;
  tail: Tail;
  session: string;
  /** Topics of the lanes: a goal that was asked for before may have its session in any of them. */
  laneTopics: readonly string[];
  start: FeedStart;
  /** `of`: whose log it stands in. `cursor` is where to go on after this event. */
  onEvent(event: SeenEvent, at: Readonly<{ of: 'goal' | 'session'; cursor: string }>): void;
  /** An event in front of the cursor, which was handed out before. */
  onPassed(event: SeenEvent): void;
  onResult(result: GoalResult, cursor: string): void;
  /** A partition cannot be read on. */
  onBroken(error: FeedBrokenError): void;
}>;

type Handed = Readonly<{ of: 'goal' | 'session'; event: SeenEvent }>;

/** The rest of a goal's own log is how it is closed, after the result. */
const isOfGoal = ({ type }: SeenEvent): boolean =>
  (type.startsWith('goal.') || type.startsWith('key.')) && type !== 'goal.ended';

const nameOf = ({ topic, partition }: PartitionName): string => `${topic}/${partition}`;

/** One feed. Opened once; closed by who opened it. */
export class Feed {
  private readonly options: FeedOptions;
  private readonly places = new Map<string, Place>();
  private readonly stops: (() => void | Promise<void>)[] = [];
  private closed = false;

  constructor(options: FeedOptions) {
    this.options = options;
  }

  /** When it resolves, nothing that is written from now on is missed. */
  async open(): Promise<void> {
    const { log, session, laneTopics, start } = this.options;
    const at = async (
      topic: string,
      key: string,
      listener: Listener,
    ): Promise<[PartitionName, Listener]> => {
      const partition = partitionOf(key, await partitionsOf(log, topic));
      return [{ topic, partition }, listener];
    };
    const goalLog = goalLogId(session);
    const listeners = await Promise.all([
      at(keysTopic, goalLog, this.logListener(goalLog, 'goal')),
      at(resultsTopic, session, this.resultListener()),
      ...laneTopics.map((topic) => at(topic, session, this.logListener(session, 'session'))),
    ]);
    if (start === 'now') await this.openAtEnd(listeners);
    else await this.openInPast(listeners, start === 'start' ? undefined : start);
  }

  /** Where somebody stands who saw nothing yet. */
  get cursor(): string {
    return this.write(false);
  }

  async close(): Promise<void> {
    this.closed = true;
    await Promise.all(this.stops.map((stop) => stop()));
  }

  private async boundsOfAll(topics: readonly string[]) {
    const { log } = this.options;
    const each = [...new Set(topics)];
    const all = each.map(async (topic) => [topic, await boundsOf(log, topic)] as const);
    return new Map<string, ReadonlyMap<number, Bounds>>(await Promise.all(all));
  }

  private async openAtEnd(listeners: readonly [PartitionName, Listener][]): Promise<void> {
    const opened = listeners.map(async ([at, listener]) => {
      const { from, stop } = await this.options.tail.listen(at, listener);
      this.stops.push(stop);
      // What is known of the place already came while the others were opened.
      if (!this.places.has(nameOf(at)))
        this.places.set(nameOf(at), { from, offset: -1, index: -1 });
    });
    await Promise.all(opened);
  }

  private async openInPast(
    listeners: readonly [PartitionName, Listener][],
    cursor: Cursor | undefined,
  ): Promise<void> {
    const bounds = await this.boundsOfAll(listeners.map(([{ topic }]) => topic));
    const table = new Map(listeners.map(([at, listener]) => [nameOf(at), listener]));
    const reader: Reader = await this.options.log.reader({
      onRecords: (at, records) => {
        for (const record of records) table.get(nameOf(at))?.take(record);
      },
      onPartitionError: (at, error) => table.get(nameOf(at))?.fail(error),
      onInterruption: () => undefined,
    });
    this.stops.push(() => reader.close());
    for (const [at] of listeners) {
      const low = bounds.get(at.topic)?.get(at.partition)?.low ?? 0;
      const known = cursor?.places.get(nameOf(at));
      const place = known ?? { from: low, offset: -1, index: -1 };
      this.places.set(nameOf(at), place);
      reader.assign(at, Math.max(place.from, low));
    }
  }

  private logListener(session: string, of: 'goal' | 'session'): Listener {
    const fold = new SessionFold(session);
    return {
      take: (record) => {
        const events = fold.take(record);
        if (fold.first === record.offset) this.begin(record);
        for (const [index, event] of events.entries()) this.hand(record, index, { of, event });
      },
      fail: (error) => this.broken(error),
    };
  }

  /** Who goes on later has to fold the session from its first record on. */
  private begin(record: LogRecord): void {
    const known = this.places.get(nameOf(record)) ?? { offset: -1, index: -1 };
    this.places.set(nameOf(record), { ...known, from: record.offset });
  }

  private hand(record: LogRecord, index: number, what: Handed): void {
    const name = nameOf(record);
    const place = this.places.get(name) ?? { from: record.offset, offset: -1, index: -1 };
    const { offset } = record;
    const { of, event } = what;
    if (offset < place.offset || (offset === place.offset && index <= place.index)) {
      this.options.onPassed(event);
      return;
    }
    this.places.set(name, { ...place, offset, index });
    if (!this.closed && (of === 'session' || isOfGoal(event)))
      this.options.onEvent(event, { of, cursor: this.write(false) });
  }

  private resultListener(): Listener {
    const { session } = this.options;
    return {
      take: (record) => {
        if (record.key !== session) return;
        const body = bodyOfRecord(record) as (GoalResult & { progress?: unknown }) | undefined;
        if (body?.session !== session || body.status === undefined || this.closed) return;
        this.options.onResult(body, this.write(true));
      },
      fail: (error) => this.broken(error),
    };
  }

  private broken(error: Error): void {
    if (!this.closed) this.options.onBroken(new FeedBrokenError(this.options.session, error));
  }

  private write(ended: boolean): string {
    return writeCursor({ session: this.options.session, places: this.places, ended });
  }
}
