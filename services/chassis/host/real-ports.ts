import { randomBytes } from 'node:crypto';
import type { Clock, Random } from './ports.ts';

const longestTimerMs = 2_147_483_647;

/** The real clock. A delay longer than a timer can hold is waited for in parts. */
export const realClock: Clock = {
  nowMs: () => Date.now(),
  after(delayMs, run) {
    if (delayMs <= 0) {
      // A timer would let the process idle for a millisecond.
      const soon = setImmediate(run);
      return () => clearImmediate(soon);
    }
    let timer: NodeJS.Timeout;
    const wait = (restMs: number): void => {
      const partMs = Math.min(restMs, longestTimerMs);
      timer = setTimeout(() => (restMs > partMs ? wait(restMs - partMs) : run()), partMs);
    };
    wait(delayMs);
    return () => clearTimeout(timer);
  },
};

export const realRandom: Random = {
  id: () => randomBytes(16).toString('hex'),
  fraction: () => randomBytes(6).readUIntBE(0, 6) / 2 ** 48,
};
