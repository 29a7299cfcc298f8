import fc from 'fast-check';
import { expect, test } from 'vitest';
import { json } from '../../../../../schemas/event.ts';
import type { JsonValue } from '../../../../../schemas/json.ts';
import { saltOf, sealContent } from '../../../../../services/chassis/protocol/seal.ts';

const salt = saltOf('ses_one');

/** The same value with the members of every object in reverse order. */
function reversed(value: JsonValue): JsonValue {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(reversed);
  const members = Object.entries(value).map(([name, one]) => [name, reversed(one)] as const);
  return Object.fromEntries(members.reverse());
}

const values = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<JsonValue>;

test('the order of members changes neither digest nor body', () => {
  fc.assert(
    fc.property(values, (value) => {
      const sealed = sealContent(salt, json(value));
      const again = sealContent(salt, json(reversed(value)));
      expect(again).toEqual(sealed);
      expect(JSON.stringify(again.body)).toBe(JSON.stringify(sealed.body));
    }),
  );
});

test('sealing a sealed body again gives the same content, as does one that went through JSON', () => {
  fc.assert(
    fc.property(values, (value) => {
      const sealed = sealContent(salt, json(value));
      expect(sealContent(salt, json(sealed.body as JsonValue))).toEqual(sealed);
      const read = JSON.parse(JSON.stringify(sealed.body)) as JsonValue;
      expect(sealContent(salt, json(read))).toEqual(sealed);
    }),
  );
});
