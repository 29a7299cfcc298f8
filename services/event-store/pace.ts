import { waitEnoughMs } from './decide.ts';

/**
 * How long rows wait for company. An insert costs the engine nearly the same for one row as for a thousand, and each
 * partition is inserted by itself: where many partitions are busy, or the engine is slow, small inserts would take the
 * processor from the work that they tell of.
 */

/** The longest wait, in milliseconds. Where little goes on, what happens is seen within a second. */
const waitMostMs = 2_000;
/** Inserts should take no more than this part of the time. */
const shareMost = 0.1;
/** Weight of the newest insert. */
const newest = 0.2;

export class Pace {
  private insertMs = 0;

  /** An insert took so long, in milliseconds. */
  inserted(durationMs: number): void {
    this.insertMs += newest * (durationMs - this.insertMs);
  }

  /** How long rows wait now, in whole milliseconds as clocks count, where so many partitions have rows. */
  waitMs(partitions: number): number {
    const wantedMs = Math.ceil((Math.max(1, partitions) * this.insertMs) / shareMost);
    return Math.min(waitMostMs, Math.max(waitEnoughMs, wantedMs));
  }
}
