import type { Clock } from '../../services/chassis/host/ports.ts';

type Entry = { atMs: number; order: number; run: () => void; cancelled: boolean };

/**
 * Time that moves only when told: events run in order of time, then of asking, each with all promises it resolves.
 * The same requests in the same order run in the same order.
 */
export class VirtualClock implements Clock {
  private now: number;
  private order = 0;
  private heap: Entry[] = [];

  private readonly settled: () => Promise<void>;

  constructor(startMs = 1_700_000_000_000, settled = afterEventLoop) {
    this.now = startMs;
    this.settled = settled;
  }

  nowMs(): number {
    return this.now;
  }

  after(delayMs: number, run: () => void): () => void {
    const entry = {
      atMs: this.now + Math.max(0, delayMs),
      order: this.order++,
      run,
      cancelled: false,
    };
    this.push(entry);
    return () => {
      entry.cancelled = true;
    };
  }

  /** As the memory log wants it. */
  schedule(delayMs: number, run: () => void): void {
    this.after(delayMs, run);
  }

  /** Runs events until the time is reached or `until` says so. Answers whether `until` did. */
  async run(forMs: number, until: () => boolean = () => false): Promise<boolean> {
    const endMs = this.now + forMs;
    // From here on this runs as a promise does: what follows from an event is done before `settled` is.
    await undefined;
    while (true) {
      if (until()) return true;
      const next = this.heap[0];
      if (next === undefined || next.atMs > endMs) break;
      this.pop();
      if (next.cancelled) continue;
      this.now = Math.max(this.now, next.atMs);
      next.run();
      await this.settled();
    }
    this.now = endMs;
    return until();
  }

  private push(entry: Entry): void {
    const { heap } = this;
    let at = heap.push(entry) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!before(entry, heap[parent] as Entry)) break;
      heap[at] = heap[parent] as Entry;
      at = parent;
    }
    heap[at] = entry;
  }

  private pop(): void {
    const { heap } = this;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      if (left >= heap.length) break;
      const right = left + 1;
      const rightFirst = right < heap.length && before(heap[right] as Entry, heap[left] as Entry);
      const child = rightFirst ? right : left;
      if (!before(heap[child] as Entry, last)) break;
      heap[at] = heap[child] as Entry;
      at = child;
    }
    heap[at] = last;
  }
}

const before = (left: Entry, right: Entry): boolean =>
  left.atMs < right.atMs || (left.atMs === right.atMs && left.order < right.order);

/** Lets every promise that can resolve now resolve, and the event loop turn once. */
export const afterEventLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/**
 * The same without the event loop, and so much faster: for worlds in which nothing waits for the real one. Asked from a
 * promise, a tick comes when no promise has anything left to do.
 */
export const afterPromises = (): Promise<void> =>
  new Promise((resolve) => process.nextTick(resolve));
