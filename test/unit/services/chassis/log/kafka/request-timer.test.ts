import { createRequire } from 'node:module';
import { describe, expect, test, vi } from 'vitest';
import { patchRequestTimer } from '../../../../../../services/chassis/log/kafka/request-timer.ts';

type Queue = {
  pending: unknown[];
  throttledUntil: number;
  throttleCheckTimeoutId: unknown;
  checkPendingRequests(): void;
  scheduleCheckPendingRequests(): void;
};

const load = createRequire(import.meta.url);

function queue(): Queue {
  const RequestQueue: { prototype: Queue } = load('kafkajs/src/network/requestQueue');
  const instance: Queue = Object.create(RequestQueue.prototype);
  return Object.assign(instance, {
    pending: [],
    throttledUntil: -1,
    throttleCheckTimeoutId: null,
  });
}

describe('the patch of the request timer', () => {
  test('fits the installed client, and a second time changes nothing', () => {
    const RequestQueue: { prototype: Queue } = load('kafkajs/src/network/requestQueue');
    expect(patchRequestTimer(RequestQueue)).toBe(true);
    const patched = RequestQueue.prototype.scheduleCheckPendingRequests;
    expect(patchRequestTimer(RequestQueue)).toBe(true);
    expect(RequestQueue.prototype.scheduleCheckPendingRequests).toBe(patched);
  });

  test('sets no timer while nothing waits, and one when something does', () => {
    vi.useFakeTimers();
    try {
      patchRequestTimer(load('kafkajs/src/network/requestQueue'));
      const idle = queue();
      idle.scheduleCheckPendingRequests();
      expect(vi.getTimerCount()).toBe(0);
      const throttled = Object.assign(queue(), { throttledUntil: Date.now() + 100 });
      throttled.scheduleCheckPendingRequests();
      expect(vi.getTimerCount()).toBe(1);
    } finally {
      vi.useRealTimers();
    }
  });

  test('leaves a class of another shape alone', () => {
    class Other {
      scheduleCheckPendingRequests(): string {
        return 'mine';
      }
    }
    expect(patchRequestTimer(Other)).toBe(false);
    expect(new Other().scheduleCheckPendingRequests()).toBe('mine');
    expect(patchRequestTimer(undefined)).toBe(false);
    expect(patchRequestTimer(class {})).toBe(false);
  });
});
