/**
 * Vectors without a model, for tests and for the demo without a key: each word falls into one of so many places by its hash.
 * Texts that share words are near each other; nothing more is claimed.
 */

import { createHash } from 'node:crypto';

const dimensions = 64;

const placeOf = (word: string): number =>
  createHash('sha256').update(word).digest().readUInt32BE(0) % dimensions;

/** The vector of `text`, of length 1; the same for the same words. */
export function scriptedVector(text: string): readonly number[] {
  const counts = new Array<number>(dimensions).fill(0);
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [text]) {
    const place = placeOf(word);
    counts[place] = (counts[place] ?? 0) + 1;
  }
  const length = Math.hypot(...counts);
  return counts.map((count) => Number((count / length).toFixed(6)));
}
