import type { Clock } from '../chassis/host/ports.ts';

/** One timer, which can be brought forward and not put off. */
export class DueTimer {
  private readonly clock: Clock;
  private readonly run: () => void;
  private set: Readonly<{ atMs: number; cancel: () => void }> | undefined;

  constructor(clock: Clock, run: () => void) {
    this.clock = clock;
    this.run = run;
  }

  /** Runs at this time, or at the one that is set if that is earlier. */
  by(atMs: number): void {
    if (this.set !== undefined && this.set.atMs <= atMs) return;
    this.set?.cancel();
    const cancel = this.clock.after(Math.max(0, atMs - this.clock.nowMs()), () => {
      this.set = undefined;
      this.run();
    });
    this.set = { atMs, cancel };
  }

  cancel(): void {
    this.set?.cancel();
    this.set = undefined;
  }
}
