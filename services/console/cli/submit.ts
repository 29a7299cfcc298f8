/** Follows a goal to its result, as lines. What `goal submit`, `goal follow` and `demo` share. */
import type { GoalRequest } from '../../client/goal-request.ts';
import type { Harness, Submitted } from '../../client/harness.ts';
import type { GoalResult } from '../../client/result.ts';
import type { GoalName } from '../../client/session.ts';
import type { Update } from '../../client/updates.ts';
import { type LiveLine, LiveView } from './live-view.ts';

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
    for await (const update of harness.follow(of, after === undefined ? {} : { after })) {
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

  constructor(options: FollowOptions) {
    this.options = options;
    this.silence = setTimeout(options.onSilence, silenceMs);
  }

  begin(): void {
    this.before = performance.now();
  }

  take({ event }: Extract<Update, { kind: 'event' }>): void {
    clearTimeout(this.silence);
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
