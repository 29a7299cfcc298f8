/**
 * How long one fetch may wait at a broker for records. The broker answers at once when there are some, so only a reader
 * to whom nothing comes asks again and again: its waits grow. What must not wait with it, a partition that is read from now
 * on, ends the wait: a request that waits at a broker cannot be changed, so its connection is cut.
 */

const SHORT_MS = 200;
const LONG_MS = 3_200;

export class LongPoll {
  readonly #cut: () => void;
  readonly #isPrompt: boolean;
  #waitMs = SHORT_MS;
  /** Undefined while no request waits. */
  #waiting: number | undefined;
  #interrupted = false;

  /** @param isPrompt Short waits are cut like long ones. */
  constructor(cut: () => void, isPrompt = false) {
    this.#cut = cut;
    this.#isPrompt = isPrompt;
  }

  /** A request goes out; how long it may wait, in milliseconds. While something is paused it will be wanted back soon. */
  begin(somePaused: boolean): number {
    if (somePaused) this.#waitMs = SHORT_MS;
    this.#waiting = this.#waitMs;
    return this.#waitMs;
  }

  /** The answer brought so many records: none means that nothing is lost by waiting longer. */
  answered(records: number): void {
    if (records === 0) this.#waitMs = Math.min(LONG_MS, this.#waitMs * 2);
  }

  /** The request has ended, however. */
  end(): void {
    this.#waiting = undefined;
    this.#interrupted = false;
  }

  /** Whether the request that is out was ended for what came meanwhile. */
  get interrupted(): boolean {
    return this.#interrupted;
  }

  /** What is to be read has changed: a long wait ends, a short one ends soon by itself unless that is not soon enough. */
  interrupt(): void {
    const waiting = this.#waiting;
    this.#waitMs = SHORT_MS;
    if (waiting === undefined || this.#interrupted) return;
    if (waiting <= SHORT_MS && !this.#isPrompt) return;
    this.#interrupted = true;
    this.#cut();
  }
}
