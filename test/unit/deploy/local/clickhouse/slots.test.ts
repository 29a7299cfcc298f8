import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Slots } from '../../../../../deploy/local/clickhouse/slots.ts';

const limits = { sessionsMax: 2, waitingMax: 2, waitMs: 1000 };

describe('slots', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test('a slot that is given back goes to the one that waits longest', async () => {
    const slots = new Slots(limits);
    const order: string[] = [];
    await Promise.all([slots.take(), slots.take()]);
    const waiting = ['first', 'second'].map((name) => slots.take().then(() => order.push(name)));
    slots.release();
    await waiting[0];
    expect(order).toEqual(['first']);
    slots.release();
    await waiting[1];
    expect(order).toEqual(['first', 'second']);
  });

  test('one more than may wait is told at once', async () => {
    const slots = new Slots(limits);
    await Promise.all([slots.take(), slots.take()]);
    const waiting = [slots.take(), slots.take()];
    await expect(slots.take()).rejects.toMatchObject({ code: 202, status: 503 });
    slots.release();
    slots.release();
    await Promise.all(waiting);
  });

  test('waiting ends after its time, and no slot goes to the one that gave up', async () => {
    const slots = new Slots(limits);
    await Promise.all([slots.take(), slots.take()]);
    const late = expect(slots.take()).rejects.toMatchObject({ code: 202 });
    await vi.advanceTimersByTimeAsync(limits.waitMs);
    await late;
    slots.release();
    await slots.take();
  });
});
