import { exception } from './exception.ts';

type Waiter = { go(): void; fail(error: Error): void; timer: NodeJS.Timeout };

/**
 * How many statements run at once. The rest waits in order, up to a number and up to a time; beyond
 * it the caller is told at once, with the code that clients know as "try again later".
 */
export class Slots {
  readonly #limits: Readonly<{ sessionsMax: number; waitingMax: number; waitMs: number }>;
  readonly #waiting: Waiter[] = [];
  #taken = 0;

  constructor(limits: Readonly<{ sessionsMax: number; waitingMax: number; waitMs: number }>) {
    this.#limits = limits;
  }

  /** Resolves when a slot is the caller's; it must give it back with `release`. Throws code 202. */
  take(): Promise<void> {
    if (this.#taken < this.#limits.sessionsMax) {
      this.#taken += 1;
      return Promise.resolve();
    }
    if (this.#waiting.length >= this.#limits.waitingMax) {
      return Promise.reject(
        exception(202, `Too many statements wait (${this.#limits.waitingMax}); try again later`),
      );
    }
    return new Promise((go, fail) => {
      const waiter: Waiter = {
        go,
        fail,
        timer: setTimeout(() => this.#giveUp(waiter), this.#limits.waitMs),
      };
      this.#waiting.push(waiter);
    });
  }

  /** Gives a slot back; it goes to the one that waits longest. */
  release(): void {
    const next = this.#waiting.shift();
    if (next === undefined) {
      this.#taken -= 1;
      return;
    }
    clearTimeout(next.timer);
    next.go();
  }

  #giveUp(waiter: Waiter): void {
    const place = this.#waiting.indexOf(waiter);
    if (place < 0) return;
    this.#waiting.splice(place, 1);
    const { sessionsMax, waitMs } = this.#limits;
    const waited = `No turn within ${waitMs} ms: ${sessionsMax} statements run already`;
    waiter.fail(exception(202, `${waited}; try again later`));
  }
}
