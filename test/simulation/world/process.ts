import type { Clock } from '../../../services/chassis/host/ports.ts';

/** One simulated process: what reaches its code passes here, so that it can stand still or die. */
export class Process {
  #state: 'running' | 'frozen' | 'dead' = 'running';
  #held: (() => void)[] = [];
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get alive(): boolean {
    return this.#state !== 'dead';
  }

  get frozen(): boolean {
    return this.#state === 'frozen';
  }

  /** Runs the work now, after the thaw, or never. */
  run(work: () => void): void {
    if (this.#state === 'running' && this.#held.length === 0) work();
    else if (this.#state !== 'dead') this.#held.push(work);
  }

  freeze(): void {
    if (this.#state === 'running') this.#state = 'frozen';
  }

  /** What was held happens in its order, each with all that follows from it. */
  thaw(): void {
    if (this.#state !== 'frozen') return;
    this.#state = 'running';
    this.#release();
  }

  die(): void {
    this.#state = 'dead';
    this.#held = [];
  }

  #release(): void {
    if (this.#state !== 'running') return;
    this.#held.shift()?.();
    if (this.#held.length > 0) this.#clock.after(0, () => this.#release());
  }

  /** The clock as this process sees it: whole milliseconds, and wrong by `skewMs`. */
  clock(skewMs: number): Clock {
    return {
      nowMs: () => Math.floor(this.#clock.nowMs()) + skewMs,
      after: (delayMs, run) => this.#clock.after(delayMs, () => this.run(run)),
    };
  }
}

/** An answer that reaches the process only while it runs. */
export function gated<T>(process: Process, answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    answer.then(
      (value) => process.run(() => resolve(value)),
      (thrown: unknown) => process.run(() => reject(thrown)),
    );
  });
}
