import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startDeadline } from '../../../../../services/chassis/effects/deadline.ts';

describe('the deadline of a call', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('fires when its time is over and says that it was the time', () => {
    const deadline = startDeadline([], 100);
    vi.advanceTimersByTime(99);
    expect(deadline.signal.aborted).toBe(false);
    vi.advanceTimersByTime(1);
    expect(deadline.signal.aborted).toBe(true);
    expect(deadline.isExpired()).toBe(true);
  });

  it('fires with any of its parents and says that it was not the time', () => {
    const [host, caller] = [new AbortController(), new AbortController()];
    const deadline = startDeadline([host.signal, caller.signal], 100);
    caller.abort();
    vi.advanceTimersByTime(200);
    expect(deadline.signal.aborted).toBe(true);
    expect(deadline.isExpired()).toBe(false);
  });

  it('has fired from the start when no time is left or a parent was aborted before', () => {
    expect(startDeadline([], 0).isExpired()).toBe(true);
    const late = startDeadline([AbortSignal.abort()], 100);
    expect(late.signal.aborted).toBe(true);
    expect(late.isExpired()).toBe(false);
  });

  it('is one of many that hear of the end of their host, without a word on standard error', async () => {
    vi.useRealTimers();
    const said: string[] = [];
    const hear = ({ message }: Error): number => said.push(message);
    process.on('warning', hear);
    const host = new AbortController();
    const deadlines = Array.from({ length: 50 }, () => startDeadline([host.signal], 60_000));
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', hear);
    host.abort();
    expect(deadlines.every(({ signal }) => signal.aborted)).toBe(true);
    for (const deadline of deadlines) deadline.clear();
    expect(said).toEqual([]);
  });

  it('never fires once it was cleared', () => {
    const parent = new AbortController();
    const deadline = startDeadline([parent.signal], 100);
    deadline.clear();
    parent.abort();
    vi.advanceTimersByTime(1_000);
    expect(deadline.signal.aborted).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('does not fire at once for a time that is longer than a timer can hold', () => {
    const deadline = startDeadline([], 10 * 2_147_483_647);
    vi.advanceTimersByTime(1_000);
    expect(deadline.signal.aborted).toBe(false);
    deadline.clear();
  });
});
