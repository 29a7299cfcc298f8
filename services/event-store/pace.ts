import { waitEnoughMs } from './decide.ts';

/**
 * How long rows wait for company. An insert costs the engine nearly the same for one row as for a thousand, and each
 * partition is inserted by itself: where many partitions are busy, or the engine is slow, small inserts would take the
 * processor from the work that they tell of. Time in which little was inserted is saved up, so that what happens now and
 * then is seen at once, and the end of a session sooner than the rest.
 */

/** The longest wait, in milliseconds. Where little goes on, what happens is seen within a second. */
const waitMostMs = 2_000;
/** Inserts should take no more than this part of the time. */
const shareMost = 0.1;
/** Weight of the newest insert. */
const newest = 0.2;
/** So much time of inserting is saved up at most, and so much of it is kept for sessions that end. */
const savedMostMs = 2_000;
const keptMs = 1_000;

export class Pace {
  private readonly nowMs: () => number;
  private insertMs = 0;
  private savedMs = savedMostMs;
  private atMs: number;

  constructor(nowMs: () => number) {
    this.nowMs = nowMs;
    this.atMs = nowMs();
  }

  /** An insert took so long, in milliseconds. */
  inserted(durationMs: number): void {
    this.insertMs += newest * (durationMs - this.insertMs);
    this.savedMs = Math.max(-savedMostMs, this.saved() - durationMs);
  }

  /**
   * How long rows wait now, in whole milliseconds as clocks count, where so many partitions have rows. `ended`: the end of a
   * session is among them, and somebody may be waiting to see what became of it.
   */
  waitMs(partitions: number, ended = false): number {
    if (this.saved() > (ended ? 0 : keptMs)) return waitEnoughMs;
    const wantedMs = Math.ceil((Math.max(1, partitions) * this.insertMs) / shareMost);
    return Math.min(waitMostMs, Math.max(waitEnoughMs, wantedMs));
  }

  private saved(): number {
    const nowMs = this.nowMs();
    const earnedMs = Math.max(0, nowMs - this.atMs) * shareMost;
    this.atMs = nowMs;
    this.savedMs = Math.min(savedMostMs, this.savedMs + earnedMs);
    return this.savedMs;
  }
}
