/**
 * A limit of so much in any minute, for one host: what was taken in the last 60 s is remembered.
 * Simple, and exact: no two minutes that meet let twice the limit through.
 */

export const windowMs = 60_000;

type Taken = { readonly atMs: number; amount: number };

export class Window {
  private readonly taken: Taken[] = [];
  private sum = 0;

  /** When `amount` fits into `limit`; now or earlier where it does. One that is larger than the
   * limit fits when nothing else was taken. */
  readyAtMs(amount: number, limit: number, nowMs: number): number {
    this.forget(nowMs);
    if (this.sum === 0 || this.sum + amount <= limit) return nowMs;
    let left = this.sum;
    for (const one of this.taken) {
      left -= one.amount;
      if (left === 0 || left + amount <= limit) return one.atMs + windowMs;
    }
    return nowMs;
  }

  /** Takes `amount`; the answer corrects it to what it really was, or takes it back with 0. */
  take(amount: number, nowMs: number): (really: number) => void {
    const taken: Taken = { atMs: nowMs, amount };
    this.taken.push(taken);
    this.sum += amount;
    return (really) => {
      // What has left the window changes nothing any more.
      if (!this.taken.includes(taken)) return;
      this.sum += really - taken.amount;
      taken.amount = really;
    };
  }

  private forget(nowMs: number): void {
    while (this.taken[0] !== undefined && this.taken[0].atMs <= nowMs - windowMs) {
      this.sum -= this.taken[0].amount;
      this.taken.shift();
    }
  }
}
