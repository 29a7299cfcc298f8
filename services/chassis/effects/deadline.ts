import { setMaxListeners } from 'node:events';

/**
 * One signal for all that can end a call early: its cancellation, the end of its host, its
 * deadline. Made by hand, as signals composed by the platform can be collected before they fire.
 */
export type Deadline = Readonly<{
  signal: AbortSignal;
  /** Whether it was the time that ended it, and not one of the signals. */
  isExpired(): boolean;
  /** Lets go of timer and signals; to be called when the call has ended. */
  clear(): void;
}>;

/** Longer times overflow the platform's timer and would fire at once. */
const timerMsMax = 2_147_483_647;

/** Starts counting `remainingMs` (milliseconds; 0 or less has expired already). */
export function startDeadline(parents: readonly AbortSignal[], remainingMs: number): Deadline {
  const controller = new AbortController();
  let expired = false;
  const cancel = () => controller.abort();
  const expire = () => {
    expired = !controller.signal.aborted;
    controller.abort();
  };
  if (parents.some((parent) => parent.aborted)) cancel();
  // All calls of a host hear of its end: that they are many is no leak.
  setMaxListeners(0, ...parents);
  for (const parent of parents) parent.addEventListener('abort', cancel, { once: true });
  const timer = setTimeout(expire, Math.min(remainingMs, timerMsMax));
  if (remainingMs <= 0) expire();
  return {
    signal: controller.signal,
    isExpired: () => expired,
    clear: () => {
      clearTimeout(timer);
      for (const parent of parents) parent.removeEventListener('abort', cancel);
    },
  };
}
