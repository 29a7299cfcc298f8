import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import {
  readMasks,
  textMask,
  usualMasks,
} from '../../../../../services/chassis/telemetry/masks.ts';
import { maskSecrets, redact } from '../../../../../services/chassis/telemetry/redact.ts';
import {
  maskedRights,
  maskedViewStatement,
} from '../../../../../services/event-store/masked-view.ts';

/** Personal data by its form and by the names of members; secrets by their form. */

const directory = mkdtempSync(join(tmpdir(), 'longrein-masks-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const file = (text: string): string => {
  const path = join(directory, 'masks.yaml');
  writeFileSync(path, text);
  return path;
};

test.each([
  ['write to ann.b+c@shop.example.com now', 'write to [masked:email] now'],
  ['IBAN DE89 3704 0044 0532 0130 00.', 'IBAN [masked:iban].'],
  ['card 4111 1111 1111 1111', 'card [masked:card]'],
  ['call +49 (30) 1234 5678', 'call [masked:phone]'],
  [
    'ses_0f3a at offset 1795000000000, chalk@5.3.0',
    'ses_0f3a at offset 1795000000000, chalk@5.3.0',
  ],
])('%s', (text, masked) => {
  expect(textMask(usualMasks)(text)).toBe(masked);
});

test('a long text with nothing in it costs no more than its length', () => {
  const long = `${'x'.repeat(300_000)} a@b.example ${'1'.repeat(300_000)}`;
  expect(textMask(usualMasks)(maskSecrets(long))).toContain(' [masked:email] ');
});

test('a file chooses among the usual ones, adds its own, and names members', () => {
  const masks = readMasks(
    file('builtIn: [email]\npatterns: { order: "ORD-[0-9]{4}" }\nfields: [Birthday]\n'),
  );
  const mask = textMask(masks);
  expect(mask('a@b.example, ORD-1234, +49 30 1234 5678')).toBe(
    '[masked:email], [masked:order], +49 30 1234 5678',
  );
  const covering = { text: mask, fields: masks.fields };
  expect(
    redact({ who: { birthday: '1.1.', mail: 'a@b.example', password: 'x' } }, covering),
  ).toEqual({
    who: { birthday: '[redacted]', mail: '[masked:email]', password: '[redacted]' },
  });
});

test.each([
  ['patterns: { order: "(" }', 'order is none'],
  ['patterns: { order: "a*" }', 'fits nothing at all'],
  ['patterns: { order: "(?<=x)y" }', 'looks around'],
  ['builtIn: [mail]', 'builtIn'],
  ['pattern: {}', 'pattern'],
  ['[', 'Flow sequence'],
])('a file that says %s is told what is wrong with it', (text, said) => {
  expect(() => readMasks(file(text))).toThrowError(
    expect.objectContaining({ code: 'MASKS_INVALID' }),
  );
  expect(() => readMasks(file(text))).toThrowError(said);
});

test.each([
  ['postgres://shop:hunter22@db/x', 'postgres://shop:[redacted]@db/x'],
  ['Authorization: Bearer abcdefghijkl', 'Authorization: Bearer [redacted]'],
  ['used sk-abcdefgh12345 twice', 'used [redacted] twice'],
  ['{"api_key":"abcdefgh"}', '{"api_key":"[redacted]"}'],
  ['password=correcthorse; next', 'password=[redacted]; next'],
  ['tokens: 1200 of 4000', 'tokens: 1200 of 4000'],
])('a secret goes by its form: %s', (text, left) => {
  expect(maskSecrets(text)).toBe(left);
});

test('the view has every mask in it, and a role of a server loses the columns that it covers', () => {
  const statement = maskedViewStatement({ ...usualMasks, fields: ['e-mail', "o'x"] }, true);
  expect(statement).toContain("'[masked:iban]'");
  expect(statement).toContain("e\\\\-mail|o\\\\\\'x");
  expect(statement).toContain('SQL SECURITY DEFINER');
  expect(maskedViewStatement(usualMasks, false)).not.toContain('DEFINER');
  expect(maskedRights('people', ['at', 'content', 'record'])).toEqual([
    'REVOKE SELECT ON longrein.events FROM people',
    'GRANT SELECT(at) ON longrein.events TO people',
    'GRANT SELECT ON longrein.contents_masked TO people',
  ]);
});
