import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonical } from '../../../../../services/chassis/protocol/hash.ts';

const texts = fc.string({ unit: 'binary', maxLength: 8 });
const values = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), texts, fc.boolean()),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(texts, tie('value'), { maxKeys: 4 }),
  ),
})).value;

test('canonical text is JSON of the same value', () => {
  fc.assert(
    fc.property(values, (value) => {
      const plain: unknown = JSON.parse(JSON.stringify(value));
      expect(JSON.parse(canonical(value))).toEqual(plain);
    }),
  );
});

test('a value that went through JSON has the same text, and the text names one value only', () => {
  fc.assert(
    fc.property(values, (value) => {
      const text = canonical(value);
      expect(canonical(JSON.parse(text))).toBe(text);
      expect(canonical(JSON.parse(JSON.stringify(value)))).toBe(text);
    }),
  );
});
