import { createKafkaLog, type KafkaLogOptions } from '../chassis/log/kafka/kafka-log.ts';
import type { LogPort } from '../chassis/log/port.ts';
import { type ApprovalDecision, type ApprovalOptions, publishDecision } from './approval.ts';
import { type CancelOptions, publishCancel } from './cancel.ts';
import { readCursor } from './cursor.ts';
import { endingOf, HarnessClosedError } from './errors.ts';
import type { FeedStart } from './feed.ts';
import { type GoalName, sessionOf } from './goal-name.ts';
import { type GoalRequest, type NamedGoal, nameGoal } from './goal-request.ts';
import { LaneTopics } from './lane-topics.ts';
import { type Published, publishGoal } from './publish.ts';
import type { GoalResult } from './result.ts';
import { Session } from './session.ts';
import { publishSignal, type SignalOptions } from './signal.ts';
import { Tail } from './tail.ts';
import { type FollowOptions, type Update, Updates, type WaitOptions } from './updates.ts';

/** The one-call interface: asks for work and follows it, with only Kafka in between. */

/** Where Kafka is and how to speak to it; nothing else is needed. `log` stands in for it in tests. */
export type HarnessOptions =
  | (Pick<KafkaLogOptions, 'brokers' | 'tls' | 'sasl' | 'connectionTimeoutMs'> &
      Readonly<{ clientId?: string }>)
  | Readonly<{ log: LogPort }>;

export type RunOptions = WaitOptions &
  Readonly<{
    /** Each event as it happens. What it throws ends the waiting. */
    onEvent?(update: Extract<Update, { kind: 'event' }>): void;
    /** The goal is in the log; its session can be followed by others. */
    onSubmitted?(submitted: Submitted): void;
  }>;

/** A goal that was asked for. `cursor` follows it from here, in any process. */
export type Submitted = Readonly<{
  goalId: string;
  session: string;
  cursor: string;
  published: Published;
}>;

export class Harness {
  private readonly log: LogPort;
  private readonly ownsLog: boolean;
  private readonly tail: Tail;
  private readonly lanes: LaneTopics;
  private closed = false;

  /** Connects when first used. Throws LongreinError BROKER_ADDRESS_INVALID. */
  constructor(options: HarnessOptions) {
    this.ownsLog = !('log' in options);
    this.log =
      'log' in options
        ? options.log
        : createKafkaLog({ ...options, clientId: options.clientId ?? 'longrein-client' });
    this.tail = new Tail(this.log);
    this.lanes = new LaneTopics(this.log, this.tail);
  }

  /**
   * Asks for a goal and stays until it completed. Throws GoalInvalidError before anything is sent, GoalRejectedError,
   * GoalFailedError or GoalCancelledError with the result, WaitEndedError when `signal` or `waitMs` ended the waiting.
   */
  async run(request: GoalRequest & RunOptions): Promise<GoalResult> {
    const result = await this.settle(request);
    if (result.status !== 'completed') throw endingOf(result);
    return result;
  }

  /** As `run`, but every ending of the goal is an answer. */
  async settle(request: GoalRequest & RunOptions): Promise<GoalResult> {
    const { signal, waitMs, onTokens, onEvent, onSubmitted, ...goal } = request;
    const named = nameGoal(goal);
    const start = named.known ? 'start' : 'now';
    const updates = await this.updates(named.session, start, onTokens);
    try {
      const submitted = await this.send(named, updates.feed.cursor);
      onSubmitted?.(submitted);
    } catch (thrown) {
      await updates.close();
      throw thrown;
    }
    const wait = { ...(signal && { signal }), ...(waitMs !== undefined && { waitMs }) };
    for await (const update of updates.iterate(wait)) {
      if (update.kind === 'result') return update.result;
      onEvent?.(update);
    }
    throw new HarnessClosedError();
  }

  /** Asks for a goal; resolves when the log has it. */
  async submit(request: GoalRequest): Promise<Submitted> {
    const named = nameGoal(request);
    const updates = await this.updates(named.session, named.known ? 'start' : 'now');
    try {
      return await this.send(named, updates.feed.cursor);
    } finally {
      await updates.close();
    }
  }

  /**
   * All that happens with a goal until its result, which is the last update. `after` goes on where another follower was,
   * in this process or another. Throws FeedBrokenError, WaitEndedError, CursorInvalidError.
   */
  async *follow(of: GoalName, options: FollowOptions = {}): AsyncGenerator<Update> {
    const session = sessionOf(of);
    const { after, ...wait } = options;
    const cursor = after === undefined ? undefined : readCursor(after, session);
    if (cursor?.ended === true) return;
    const updates = await this.updates(session, cursor ?? 'start', wait.onTokens);
    yield* updates.iterate(wait);
  }

  /** Asks that a goal stop; resolves when the log has the wish. What it became of is said by its result. */
  cancel(of: GoalName, options: CancelOptions = {}): Promise<Published> {
    this.refuseClosed();
    return publishCancel(this.log, of, options);
  }

  /** Tells a running goal that something happened: a loop of its plan may wait for it. */
  signal(of: GoalName, name: string, options: SignalOptions = {}): Promise<Published> {
    this.refuseClosed();
    return publishSignal(this.log, of, { ...options, name });
  }

  /**
   * Publishes what a person answered to a question. The first answer that fits counts; what became of this one is said
   * in the session's log (`person.settled`, `person.answer-refused`).
   */
  approve(decision: ApprovalDecision, options: ApprovalOptions = {}): Promise<Published> {
    this.refuseClosed();
    return publishDecision(this.log, decision, options);
  }

  /** A session by its id (`ses_…`), or by its goal's id. Asks nobody. */
  session(of: GoalName): Session {
    return new Session(this, of);
  }

  /** Ends all followers and the connection. */
  async close(): Promise<void> {
    this.closed = true;
    await this.tail.close();
    if (this.ownsLog) await this.log.close();
  }

  private async send(goal: NamedGoal, cursor: string): Promise<Submitted> {
    const published = await publishGoal(this.log, goal);
    const { goalId, session } = goal;
    return { goalId, session, cursor, published };
  }

  private async updates(
    session: string,
    start: FeedStart,
    onTokens?: WaitOptions['onTokens'],
  ): Promise<Updates> {
    this.refuseClosed();
    const { log, tail } = this;
    const updates = new Updates({ log, tail, session, start, laneTopics: await this.lanes.all() });
    try {
      await updates.open(onTokens);
    } catch (thrown) {
      await updates.close();
      throw thrown;
    }
    return updates;
  }

  private refuseClosed(): void {
    if (this.closed) throw new HarnessClosedError();
  }
}
