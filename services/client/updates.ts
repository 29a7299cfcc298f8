import type { SeenEvent } from '../../schemas/event.ts';
import { toError } from '../chassis/errors.ts';
import { WaitEndedError } from './errors.ts';
import { Feed, type FeedOptions } from './feed.ts';
import type { GoalResult } from './result.ts';
import { hearTokens, type ModelTokens } from './tokens.ts';

/**
 * One step of a goal. `cursor` is where to go on after it, in any process. `of` says whose log the event stands in: the
 * goal's own (received, queued for its key, admitted) or its session's.
 */
export type Update =
  | Readonly<{ kind: 'event'; of: 'goal' | 'session'; event: SeenEvent; cursor: string }>
  | Readonly<{ kind: 'result'; result: GoalResult; cursor: string }>;

export type WaitOptions = Readonly<{
  /** Ends the waiting, never the goal. */
  signal?: AbortSignal;
  /** Ends the waiting after this time, in milliseconds. */
  waitMs?: number;
  /**
   * What models say, as they say it, from now on. A channel of its own: pieces may be lost, may come after what they are
   * of has ended, and have no cursor. The whole answer is in `model.completed`.
   */
  onTokens?(tokens: ModelTokens): void;
}>;

/** The result comes by a way of its own, which may be a little ahead of the events. */
const catchUpMs = 1_000;

/** After one of these a result is published, and nothing that a follower waits for comes any more. */
const lastTypes: ReadonlySet<string> = new Set([
  'result.published',
  'result.replaced',
  'goal.rejected',
  'goal.cancelled',
  'goal.taken',
]);

/** Where the broker refuses the result, another one takes its place. */
const replacing: ReadonlySet<string> = new Set(['delivery.refused', 'result.replaced']);

type UpdatesOptions = Omit<FeedOptions, 'onEvent' | 'onPassed' | 'onResult' | 'onBroken'>;

/** Updates of one feed in order: events, then the result. */
export class Updates {
  readonly feed: Feed;
  private readonly options: UpdatesOptions;
  private deaf = (): void => undefined;
  private readonly session: string;
  private readonly waiting: Update[] = [];
  private result: Extract<Update, { kind: 'result' }> | undefined;
  private last = false;
  private late = false;
  private error: Error | undefined;
  private wake = (): void => undefined;

  constructor(options: UpdatesOptions) {
    this.options = options;
    this.session = options.session;
    this.feed = new Feed({
      ...options,
      onEvent: (event, at) => this.take({ kind: 'event', event, ...at }),
      onPassed: ({ type }) => {
        this.last ||= lastTypes.has(type);
        this.wake();
      },
      onResult: (result, cursor) => this.end(result, cursor),
      onBroken: (error) => this.fail(error),
    });
  }

  /** When it resolves, nothing that is written from now on is missed. What `onTokens` throws ends the waiting. */
  async open(onTokens?: WaitOptions['onTokens']): Promise<void> {
    if (onTokens !== undefined)
      this.deaf = await hearTokens(this.options, (tokens) => {
        try {
          onTokens(tokens);
        } catch (thrown) {
          this.fail(toError(thrown));
        }
      });
    await this.feed.open();
  }

  async close(): Promise<void> {
    this.deaf();
    await this.feed.close();
  }

  private take(update: Extract<Update, { kind: 'event' }>): void {
    const { type } = update.event;
    // What follows is the closing of the session, of which a follower sees more or less, as it comes.
    if (this.last && !replacing.has(type)) return;
    this.waiting.push(update);
    this.last ||= lastTypes.has(type);
    this.wake();
  }

  private end(result: GoalResult, cursor: string): void {
    // The same message may come again.
    if (this.result !== undefined) return;
    this.result = { kind: 'result', result, cursor };
    setTimeout(() => {
      this.late = true;
      this.wake();
    }, catchUpMs).unref();
    this.wake();
  }

  private fail(error: Error): void {
    this.error ??= error;
    this.wake();
  }

  /** Throws FeedBrokenError, WaitEndedError. Closes the feed when it ends, however it ends. */
  async *iterate({ signal, waitMs }: WaitOptions = {}): AsyncGenerator<Update> {
    const onAbort = (): void => this.fail(new WaitEndedError(this.session, 'the signal aborted'));
    const onTime = (): void =>
      this.fail(new WaitEndedError(this.session, `no result within ${waitMs} ms`));
    const timer = waitMs === undefined ? undefined : setTimeout(onTime, waitMs);
    if (signal?.aborted === true) onAbort();
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      yield* this.drain();
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      await this.close();
    }
  }

  private async *drain(): AsyncGenerator<Update> {
    for (;;) {
      const next = this.waiting.shift();
      if (next !== undefined) {
        yield next;
        continue;
      }
      if (this.result !== undefined && (this.last || this.late)) {
        yield this.result;
        return;
      }
      if (this.error !== undefined) throw this.error;
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
  }
}

export type FollowOptions = WaitOptions &
  Readonly<{
    /** Goes on behind this place; from the beginning if not given. */
    after?: string;
  }>;
