import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  canonical,
  hashOf,
  isSameJson,
  sha256,
} from '../../../../../services/chassis/protocol/hash.ts';

test('SHA-256 is of UTF-8, in lower-case hex', () => {
  expect(sha256('')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
  expect(sha256('é')).toBe('4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c');
});

describe('canonical text', () => {
  test('has the members of objects sorted by UTF-16 code units, at every depth', () => {
    expect(canonical({ b: { z: 1, a: [{ y: 1, x: 2 }] }, a: 0 })).toBe(
      '{"a":0,"b":{"a":[{"x":2,"y":1}],"z":1}}',
    );
    // U+1F600 is written with the surrogate D83D, which sorts before U+FB33.
    const names = Object.keys(JSON.parse(canonical({ '\ufb33': 1, '\u{1f600}': 2, é: 3, Z: 4 })));
    expect(names).toEqual(['Z', 'é', '\u{1f600}', '\ufb33']);
    expect(canonical({ 10: 'a', 2: 'b' })).toBe('{"10":"a","2":"b"}');
  });

  test('writes numbers as JSON does, minus zero as zero', () => {
    expect(canonical([1.0, -0, 1e21, 1e-7, 0.1, 9_007_199_254_740_991])).toBe(
      '[1,0,1e+21,1e-7,0.1,9007199254740991]',
    );
  });

  test('writes what is no JSON number as null', () => {
    expect(canonical([Number.NaN, Number.POSITIVE_INFINITY])).toBe('[null,null]');
  });

  test('leaves undefined members out; in lists and alone they are null', () => {
    expect(canonical({ a: undefined, b: null, c: 1 })).toBe('{"b":null,"c":1}');
    expect(canonical([undefined, 1])).toBe('[null,1]');
    expect(canonical(undefined)).toBe('null');
    expect(canonical({ a: undefined })).toBe('{}');
  });

  test('escapes as JSON does; half of a pair stays readable', () => {
    expect(canonical('a"\\\n\u0001é😀')).toBe('"a\\"\\\\\\n\\u0001é😀"');
    expect(canonical('\ud800')).toBe('"\\ud800"');
  });

  test('is that of each object, however many with other names were written before', () => {
    const inOrder = (names: readonly string[]): string =>
      `{${names
        .toSorted()
        .map((name) => `${JSON.stringify(name)}:1`)
        .join(',')}}`;
    const objectOf = (names: readonly string[]) =>
      Object.fromEntries(names.map((name) => [name, 1]));
    const few = fc.constantFrom(
      'b',
      'a',
      'é',
      '\ufb33',
      '\u{1f600}',
      '10',
      '2',
      'x"',
      'constructor',
    );
    const names = fc.uniqueArray(fc.oneof(few, fc.string()), { maxLength: 60 });
    fc.assert(
      fc.property(fc.array(names, { maxLength: 20 }), (all) => {
        for (const one of [...all, ...all])
          expect(canonical(objectOf(one.filter((name) => name !== '__proto__')))).toBe(
            inOrder(one.filter((name) => name !== '__proto__')),
          );
      }),
      { numRuns: 300 },
    );
  });

  test('takes members that are named like those of every object', () => {
    const parsed: unknown = JSON.parse('{"__proto__":1,"constructor":2}');
    expect(canonical(parsed)).toBe('{"__proto__":1,"constructor":2}');
  });
});

test('the hash of a value is that of its canonical text', () => {
  expect(hashOf({ b: 1, a: 2 })).toBe(sha256('{"a":2,"b":1}'));
  expect(hashOf({ a: 1, b: undefined } as object)).toBe(hashOf({ a: 1 }));
});

describe('what is the same without its text', () => {
  const turnedRound = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(turnedRound);
    if (typeof value !== 'object' || value === null) return value;
    const members = Object.entries(value).reverse();
    return Object.fromEntries(members.map(([name, member]) => [name, turnedRound(member)]));
  };

  test('has the same canonical text, in whatever order its members stand', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const copy = JSON.parse(JSON.stringify(value)) as unknown;
        expect(isSameJson(copy, value)).toBe(true);
        expect(isSameJson(turnedRound(copy), value)).toBe(true);
      }),
    );
  });

  test('is never said of values with other texts', () => {
    const small = fc.jsonValue({ maxDepth: 2 });
    fc.assert(
      fc.property(small, small, (one, other) => {
        const isSame = canonical(one) === canonical(other);
        expect([isSame, isSameJson(one, other)]).toEqual([isSame, isSame]);
      }),
    );
  });

  test.each([
    [{ a: 1 }, { a: 1, b: 2 }],
    [{ a: 1, b: 2 }, { a: 1 }],
    [{ a: 1 }, { b: 1 }],
    [{ ['__proto__']: {} }, { x: 1 }],
    [JSON.parse('{"__proto__":{}}'), { x: {} }],
    [JSON.parse('{"constructor":{}}'), { x: {} }],
    [[], {}],
    [{}, []],
    [[1], [1, 2]],
    [null, {}],
    [{}, null],
    ['1', 1],
    [{ a: null }, {}],
  ])('%j is not %j', (one, other) => {
    expect(isSameJson(one, other)).toBe(false);
  });
});
