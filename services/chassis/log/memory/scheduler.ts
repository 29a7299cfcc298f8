/** Who decides when things happen. A simulation brings its own with a virtual clock. */

export type Scheduler = Readonly<{
  /** Runs this later, never within the call. `delayMs` is at least 0. */
  schedule(delayMs: number, run: () => void): void;
}>;

/** Real time: as soon as the event loop is free, or after the delay. */
export const eventLoopScheduler: Scheduler = {
  schedule(delayMs, run) {
    if (delayMs <= 0) setImmediate(run);
    else setTimeout(run, delayMs);
  },
};
