/** Follows a goal to its result, as lines. What `goal submit`, `goal follow` and `demo` share. */

import type { GoalName } from '../../client/goal-name.ts';
import type { GoalRequest } from '../../client/goal-request.ts';
import type { Harness, Submitted } from '../../client/harness.ts';
import type { GoalResult } from '../../client/result.ts';
import type { Update, WaitOptions } from '../../client/updates.ts';
import { type LiveLine, LiveView } from './live-view.ts';
import { TokenLines } from './token-lines.ts';

export interface Followed {
  readonly result: GoalResult;
  /** From publishing to reading the result. */
  readonly elapsedMs: number;
  readonly events: number;
  /** Providers whose models answered. */
  readonly providers: readonly string[];
  /** The goal had ended before it was asked for now. */
  readonly repeated: boolean;
}

export interface FollowOptions {
  onLine(line: LiveLine): void;
  /** Nothing was heard of the goal for a while. */
  onSilence(): void;
  /** Show what models say, in lines of so many characters. */
  tokensWidth?: number;
}

const silenceMs = 10_000;

/** Asks for the goal and stays until its result is there. */
export async function followGoal(
  harness: Harness,
  goal: GoalRequest,
  options: FollowOptions & { onSubmitted(submitted: Submitted): void },
): Promise<Followed> {
  const watch = new Watch(options);
  try {
    const result = await harness.settle({
      ...goal,
      onSubmitted: (submitted) => {
        watch.begin();
        options.onSubmitted(submitted);
      },
      onEvent: (update) => watch.take(update),
      ...watch.hearing,
    });
    return watch.end(result);
  } finally {
    watch.stop();
  }
}

/** Follows a goal that somebody asked for; undefined where `after` stands behind its result already. */
export async function followSession(
  harness: Harness,
  of: GoalName,
  options: FollowOptions & { after?: string; onCursor(cursor: string): void },
): Promise<Followed | undefined> {
  const watch = new Watch(options);
  const { after } = options;
  watch.begin();
  try {
    const from = after === undefined ? {} : { after };
    for await (const update of harness.follow(of, { ...from, ...watch.hearing })) {
      options.onCursor(update.cursor);
      if (update.kind === 'result') return watch.end(update.result);
      watch.take(update);
    }
    return undefined;
  } finally {
    watch.stop();
  }
}

/** Events as lines, and how long it took. */
class Watch {
  private readonly view = new LiveView();
  private readonly options: FollowOptions;
  private readonly startedMs = Date.now();
  private readonly silence: NodeJS.Timeout;
  private before = performance.now();
  private readonly tokens: TokenLines | undefined;

  constructor(options: FollowOptions) {
    this.options = options;
    this.silence = setTimeout(options.onSilence, silenceMs);
    const { tokensWidth: width, onLine } = options;
    const { startedMs } = this;
    this.tokens = width === undefined ? undefined : new TokenLines(onLine, { width, startedMs });
  }

  begin(): void {
    this.before = performance.now();
  }

  /** What the harness is to tell besides events. */
  get hearing(): Pick<WaitOptions, 'onTokens'> {
    const { tokens } = this;
    return tokens === undefined ? {} : { onTokens: (piece) => tokens.take(piece) };
  }

  take({ event }: Extract<Update, { kind: 'event' }>): void {
    clearTimeout(this.silence);
    this.tokens?.end(event);
    const line = this.view.take(event);
    if (line !== undefined) this.options.onLine(line);
  }

  end(result: GoalResult): Followed {
    const elapsedMs = Math.round(performance.now() - this.before);
    const repeated = Date.parse(result.endedAt) < this.startedMs;
    const providers = [...this.view.providers];
    return { result, elapsedMs, events: this.view.seen, providers, repeated };
  }

  stop(): void {
    clearTimeout(this.silence);
  }
}
