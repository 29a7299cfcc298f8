/**
 * Ends an attempt at its deadline or when its owner cancels, and remembers which of the two it was.
 */

import type { ModelFailure, ModelRequest } from './port.ts';

/** `mute`: the model did not begin to answer in time. `silent`: it did, and then said nothing for too long. */
export type StopReason = 'cancelled' | 'timeout' | 'mute' | 'silent';

export type Stop = Readonly<{
  signal: AbortSignal;
  /** Why it was stopped, if it was. */
  reason(): StopReason | undefined;
  /** Stops it after so long; the answer takes that back. */
  expireAfter(delayMs: number, why: 'mute' | 'silent'): () => void;
  /** Frees the timer and the listener; call it when the attempt has ended. */
  release(): void;
}>;

// The host's timers wrap around above this.
const timerMsMax = 2_147_483_647;

/** A stop for `request`; one that is already due is stopped from the start. */
export function createStop(request: ModelRequest, nowMs: () => number): Stop {
  const controller = new AbortController();
  let reason: StopReason | undefined;
  const stopFor = (why: StopReason) => (): void => {
    reason ??= why;
    controller.abort();
  };
  const cancel = stopFor('cancelled');
  const expire = stopFor('timeout');
  const remainingMs = Math.min(request.deadlineAtMs - nowMs(), timerMsMax);
  const timer = setTimeout(expire, Math.max(0, remainingMs));
  request.signal.addEventListener('abort', cancel, { once: true });
  if (request.signal.aborted) cancel();
  else if (remainingMs <= 0) expire();
  return {
    signal: controller.signal,
    reason: () => reason,
    expireAfter(delayMs, why) {
      const patience = setTimeout(stopFor(why), delayMs);
      return () => clearTimeout(patience);
    },
    release() {
      clearTimeout(timer);
      request.signal.removeEventListener('abort', cancel);
    },
  };
}

/** The failure of a request that was stopped from this side. */
export function stoppedFailure(reason: StopReason, provider: string): ModelFailure {
  if (reason === 'cancelled') {
    const message = `the request to ${provider} was cancelled`;
    return { code: 'MODEL_CANCELLED', message, class: 'cancelled', retryable: false };
  }
  const late = { class: 'timeout', retryable: true } as const;
  if (reason === 'mute') {
    const message = `${provider} did not begin to answer in time`;
    const fix = 'Look at the server, or allow more time with `firstTokenMs` of the provider.';
    return { code: 'MODEL_TIMEOUT', message, ...late, fix };
  }
  if (reason === 'silent') {
    const message = `${provider} fell silent in the middle of an answer`;
    const fix = 'Look at the server, or allow longer pauses with `silenceMs` of the provider.';
    return { code: 'MODEL_SILENT', message, ...late, fix };
  }
  const message = `${provider} did not answer before the deadline of the request`;
  const fix = 'Allow more time for the task, or ask for fewer output tokens.';
  return { code: 'MODEL_TIMEOUT', message, ...late, fix };
}
