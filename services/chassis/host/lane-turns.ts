import { limits } from '../../../schemas/limits.ts';
import { firstGeneration, lanes, sessionTopic } from '../../../schemas/topics.ts';
import type { Clock } from './ports.ts';

/** Asked before a piece of work; undefined where it may be done at once, else it waits. `cost` in records folded. */
export type Turn = (cost?: number) => Promise<void> | undefined;

type Waiting = Readonly<{ cost: number; go: () => void }>;

type Line = {
  readonly share: number;
  /** What is left of the share until the event loop comes round. */
  left: number;
  readonly waiting: Waiting[];
  activeMs: number;
};

/**
 * Who goes first on the one thread of a host. All of its lanes share it, and what one answer of a broker brings to a lane
 * may be work for a tenth of a second: `high` would wait behind it at every hop.
 *
 * N1 A lane that is better than all others that have work goes on as if it were alone.
 * N2 As long as a better lane has work, a lane does a share of its own with each round of the event loop, then lets it come
 *    round: what came for others meanwhile is taken in first. No lane starves.
 * N3 Only when a piece of work begins is decided here, never what it is: nothing of this is in the log.
 */
export class LaneTurns {
  private readonly clock: Clock;
  private readonly lines: readonly Line[];
  private coming = false;

  constructor(clock: Clock) {
    this.clock = clock;
    this.lines = lanes.map((lane) => {
      const share = limits.laneShares[lane];
      return { share, left: share, waiting: [], activeMs: Number.NEGATIVE_INFINITY };
    });
  }

  /** The turns of a partition of this topic. What is no lane works for all of them, and never waits. */
  of(topic: string): Turn {
    const rank = lanes.findIndex((lane) => sessionTopic(lane) === firstGeneration(topic));
    const line = this.lines[rank];
    if (line === undefined) return () => undefined;
    return (cost = 1) => this.ask(line, cost);
  }

  private ask(line: Line, cost: number): Promise<void> | undefined {
    line.activeMs = this.clock.nowMs();
    if (line.waiting.length === 0 && !this.isHeldUp(line)) return undefined;
    this.comeRound();
    if (line.waiting.length === 0 && line.left > 0) {
      line.left -= cost;
      return undefined;
    }
    return new Promise((go) => {
      line.waiting.push({ cost, go });
    });
  }

  /** Whether a better lane has work, or had a moment ago. */
  private isHeldUp(line: Line): boolean {
    const sinceMs = this.clock.nowMs() - limits.laneActiveMs;
    for (const better of this.lines) {
      if (better === line) return false;
      if (better.activeMs > sinceMs) return true;
    }
    return false;
  }

  private comeRound(): void {
    if (this.coming) return;
    this.coming = true;
    this.clock.after(0, () => this.round());
  }

  private round(): void {
    this.coming = false;
    for (const line of this.lines) {
      line.left = line.share;
      const isFree = !this.isHeldUp(line);
      while (line.waiting.length > 0 && (isFree || line.left > 0)) {
        const next = line.waiting.shift() as Waiting;
        line.left -= next.cost;
        next.go();
      }
    }
    if (this.lines.some(({ waiting }) => waiting.length > 0)) this.comeRound();
  }
}
