import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  membersOf,
  pairedWith,
  pairsOf,
  type SortedPairs,
  withoutPair,
  withPair,
} from '../../../../../services/chassis/effects/sorted-pairs.ts';

const key = fc.constantFrom('a', 'b', 'constructor', '__proto', 'aa', 'ä', '1', '02');
const change = fc.record({ key, value: fc.option(fc.nat(), { nil: undefined }) });

test('pairs know what a record of the same changes knows, in the order of their keys', () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 40 }), (changes) => {
      const record = new Map<string, number>();
      let pairs: SortedPairs<number> = [];
      for (const { key: at, value } of changes) {
        if (value === undefined) record.delete(at);
        else record.set(at, value);
        pairs = value === undefined ? withoutPair(pairs, at) : withPair(pairs, at, value);
        expect(pairedWith(pairs, at)).toBe(value);
      }
      const sorted = [...record].sort(([one], [other]) => (one < other ? -1 : 1));
      expect(pairs).toEqual(sorted);
      expect(pairsOf(membersOf(pairs))).toEqual(pairs);
    }),
  );
});

test('what is not there is taken from nothing, and no change touches the pairs before it', () => {
  const before: SortedPairs<number> = [['a', 1]];
  expect(withoutPair(before, 'b')).toBe(before);
  withPair(before, 'a', 2);
  withoutPair(before, 'a');
  expect(before).toEqual([['a', 1]]);
});
