/** Waiting that can be ended early, and growing pauses between attempts. */

/** A bell for one loop: a ring is remembered, so none is lost between two waits. */
export class Wake {
  #rung = false;
  #release: (() => void) | undefined;

  ring(): void {
    this.#rung = true;
    this.#release?.();
  }

  /** Resolves at the next ring, or after this many milliseconds. */
  async wait(timeoutMs?: number): Promise<void> {
    if (!this.#rung) await this.#ringOr(timeoutMs);
    this.#rung = false;
    this.#release = undefined;
  }

  async #ringOr(timeoutMs: number | undefined): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#release = resolve;
      if (timeoutMs !== undefined) timer = setTimeout(resolve, timeoutMs);
    });
    clearTimeout(timer);
  }
}

/** Growing pauses between attempts, in milliseconds, with up to a quarter of jitter. */
export class Backoff {
  readonly #firstMs: number;
  readonly #longestMs: number;
  #failures = 0;

  constructor(firstMs: number, longestMs: number) {
    this.#firstMs = firstMs;
    this.#longestMs = longestMs;
  }

  nextMs(): number {
    const ms = Math.min(this.#firstMs * 2 ** Math.min(this.#failures, 20), this.#longestMs);
    this.#failures += 1;
    return Math.round(ms * (1 - Math.random() / 4));
  }

  reset(): void {
    this.#failures = 0;
  }
}

/** Waits for the work, but not longer than this; what it does later is not our concern. */
export async function atMost(timeoutMs: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, timeoutMs);
  });
  await Promise.race([work.then(ignore, ignore), late]);
  clearTimeout(timer);
}

const ignore = (): void => undefined;
