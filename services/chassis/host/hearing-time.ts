import { limits } from '../../../schemas/limits.ts';

/** A longer silence of the own heartbeats than this is no time of hearing. */
const gapMsMax = limits.presenceMs / 2;

/**
 * A clock that runs only while this instance hears itself (DESIGN 3.1): only time in which presence was received counts
 * against others, as a broken presence topic proves nothing about anybody.
 */
export class HearingTime {
  private total = 0;
  private lastAtMs: number | undefined;

  /** The own heartbeat was heard at this time of the clock. */
  heard(nowMs: number): void {
    this.total += this.gap(nowMs);
    this.lastAtMs = nowMs;
  }

  /** Milliseconds of hearing, up to the last own heartbeat. */
  get totalMs(): number {
    return this.total;
  }

  /** The place of this moment in the time of hearing; what is waited for from here on is never counted short. */
  mark(nowMs: number): number {
    return this.total + this.gap(nowMs);
  }

  private gap(nowMs: number): number {
    const gapMs = this.lastAtMs === undefined ? 0 : nowMs - this.lastAtMs;
    return gapMs > 0 && gapMs <= gapMsMax ? gapMs : 0;
  }
}
