/**
 * Stops a timer of kafkajs that fires every millisecond on each connection, for ever: after each
 * answer it schedules a check of its waiting requests, even when none waits, with a delay that has
 * become negative. One idle connection costs about 2 % of a core that way. The patch schedules only
 * when there is something to check, and is applied only if the function has the shape that it was
 * written for.
 */

type RequestQueue = {
  pending: readonly unknown[];
  throttledUntil: number;
};

type Schedule = (this: RequestQueue) => void;

const PATCHED = Symbol.for('longrein.kafka.request-timer');
const EXPECTED_TEXT = ['throttledUntil - Date.now()', 'throttleCheckTimeoutId = setTimeout'];

/** Patches the class in place, once. Returns whether the timer is under control afterwards. */
export function patchRequestTimer(queueClass: unknown): boolean {
  const prototype = prototypeOf(queueClass);
  const original = prototype?.scheduleCheckPendingRequests;
  if (prototype === undefined || typeof original !== 'function') return false;
  if (PATCHED in original) return true;
  const text = Function.prototype.toString.call(original);
  if (!EXPECTED_TEXT.every((part) => text.includes(part))) return false;
  const schedule = original as Schedule;
  const patched: Schedule = function scheduleCheckPendingRequests() {
    if (this.pending.length === 0 && this.throttledUntil <= Date.now()) return;
    schedule.call(this);
  };
  prototype.scheduleCheckPendingRequests = Object.assign(patched, { [PATCHED]: true });
  return true;
}

function prototypeOf(queueClass: unknown): Record<string, unknown> | undefined {
  if (typeof queueClass !== 'function') return undefined;
  return queueClass.prototype as Record<string, unknown> | undefined;
}
