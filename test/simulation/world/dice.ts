import { sha256 } from '../../../services/chassis/protocol/hash.ts';
import { seededNumbers } from '../../support/quiet-ports.ts';

/** Draws of one seed. The same seed and the same questions give the same answers. */
export type Dice = Readonly<{
  /** In [0, 1). */
  fraction(): number;
  chance(of: number): boolean;
  /** A whole number, both ends included. */
  between(low: number, high: number): number;
  pick<T>(list: readonly T[]): T;
}>;

/** Dice of a seed and of what they are for: one use does not disturb another. */
export function diceOf(...parts: readonly (string | number)[]): Dice {
  const fraction = seededNumbers(Number.parseInt(sha256(parts.join('/')).slice(0, 8), 16));
  const between = (low: number, high: number): number =>
    low + Math.floor(fraction() * (high - low + 1));
  return {
    fraction,
    chance: (of) => fraction() < of,
    between,
    pick<T>(list: readonly T[]): T {
      const found = list[between(0, list.length - 1)];
      if (found === undefined) throw new Error('nothing to pick from');
      return found;
    },
  };
}
