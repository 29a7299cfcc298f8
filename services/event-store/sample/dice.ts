/** Numbers that look random and are the same for the same seed on every machine. */
export type Dice = Readonly<{
  /** From 0 up to, not including, 1. */
  fraction(): number;
  /** A whole number, both ends included. */
  between(low: number, high: number): number;
  chance(share: number): boolean;
  /** One of them, the first ones more often. */
  pick<T>(from: readonly T[]): T;
}>;

/** Mulberry32: 32 bits of state, good enough for stories. */
export function createDice(seed: number): Dice {
  let state = seed >>> 0;
  const fraction = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    fraction,
    between: (low, high) => low + Math.floor(fraction() * (high - low + 1)),
    chance: (share) => fraction() < share,
    pick: (from) => from[Math.floor(fraction() ** 1.6 * from.length)] as (typeof from)[number],
  };
}
