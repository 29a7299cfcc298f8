/**
 * A record as pairs in the order of their keys. To change one of a thousand copies a thousand places, which is one move of
 * memory; a plain object of that size is hashed anew, and costs a hundred times as much.
 */

import type { Members } from './member.ts';

export type SortedPairs<T> = readonly (readonly [string, T])[];

/** Where the key stands, or would have to. */
function placeOf<T>(pairs: SortedPairs<T>, key: string): number {
  let low = 0;
  let high = pairs.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const pair = pairs[middle];
    if (pair !== undefined && pair[0] < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function pairedWith<T>(pairs: SortedPairs<T>, key: string): T | undefined {
  const pair = pairs[placeOf(pairs, key)];
  return pair?.[0] === key ? pair[1] : undefined;
}

export function withPair<T>(pairs: SortedPairs<T>, key: string, value: T): SortedPairs<T> {
  const place = placeOf(pairs, key);
  if (pairs[place]?.[0] === key) return pairs.with(place, [key, value]);
  const next = pairs.slice();
  next.splice(place, 0, [key, value]);
  return next;
}

/** The same object when there is no such key. */
export function withoutPair<T>(pairs: SortedPairs<T>, key: string): SortedPairs<T> {
  const place = placeOf(pairs, key);
  if (pairs[place]?.[0] !== key) return pairs;
  const next = pairs.slice();
  next.splice(place, 1);
  return next;
}

export const pairsOf = <T>(members: Members<T>): SortedPairs<T> =>
  Object.entries(members).sort(([one], [other]) => (one < other ? -1 : 1));

export const membersOf = <T>(pairs: SortedPairs<T>): Members<T> => Object.fromEntries(pairs);
