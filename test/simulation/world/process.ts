import type { Clock } from '../../../services/chassis/host/ports.ts';

/** One simulated process: what reaches its code passes here, so that it can stand still or die. */
export class Process {
  #state: 'running' | 'frozen' | 'dead' = 'running';
  #held: (() => void)[] = [];
  #skewMs: number;
  /** Dies when so many more things have gone in or out. */
  #doom: { left: number; die: () => void } | undefined;
  readonly #clock: Clock;

  constructor(clock: Clock, skewMs = 0) {
    this.#clock = clock;
    this.#skewMs = skewMs;
  }

  /** It dies at the `passes`-th thing from now on that goes out of it or comes to it: a crash at any await. */
  doom(passes: number, die: () => void): void {
    this.#doom = { left: passes, die };
  }

  spare(): void {
    this.#doom = undefined;
  }

  /** A request goes out, or something that was waited for is about to arrive. */
  pass(): void {
    const doom = this.#doom;
    if (doom === undefined || this.#state === 'dead') return;
    doom.left -= 1;
    if (doom.left > 0) return;
    this.#doom = undefined;
    doom.die();
  }

  /** The wall clock of its machine is set, forward or back. */
  jump(byMs: number): void {
    this.#skewMs += byMs;
  }

  get alive(): boolean {
    return this.#state !== 'dead';
  }

  get frozen(): boolean {
    return this.#state === 'frozen';
  }

  /** Runs the work now, after the thaw, or never. */
  run(work: () => void): void {
    if (this.#state === 'running' && this.#held.length === 0) {
      this.pass();
      if (this.alive) work();
    } else if (this.#state !== 'dead') this.#held.push(work);
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

  /** The clock as this process sees it: whole milliseconds, and wrong by its skew. Delays are not. */
  get clock(): Clock {
    return {
      nowMs: () => Math.floor(this.#clock.nowMs()) + this.#skewMs,
      after: (delayMs, run) => this.#clock.after(delayMs, () => this.run(run)),
    };
  }
}

/** A request that went out, and its answer, which reaches the process only while it runs. */
export function gated<T>(process: Process, answer: Promise<T>): Promise<T> {
  process.pass();
  return new Promise((resolve, reject) => {
    answer.then(
      (value) => process.run(() => resolve(value)),
      (thrown: unknown) => process.run(() => reject(thrown)),
    );
  });
}
