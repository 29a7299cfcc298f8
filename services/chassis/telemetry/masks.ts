import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { LongreinError, toError } from '../errors.ts';

/**
 * Masks for personal data: in logs, in exports that are asked for masked, and in the view that analysts read. The log that
 * services work from is not cut. Patterns are written so that JavaScript and RE2 (ClickHouse) read them alike.
 */

export type Masks = Readonly<{
  /** By name, in the order in which they are tried. */
  patterns: readonly (readonly [name: string, source: string])[];
  /** Names of members whose values are masked whole; in lower case. */
  fields: readonly string[];
}>;

const builtIn: Readonly<Record<string, string>> = {
  email: '[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9.-]{1,190}\\.[A-Za-z]{2,24}',
  iban: '\\b[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\\b',
  card: '\\b(?:[0-9]{4}[ -]?){3}[0-9]{3,4}\\b',
  phone: '\\+[0-9]{1,3}(?:[ -]?\\(?[0-9]{2,4}\\)?){2,5}',
};

/** Signs without which none is there: looking for these first keeps long texts cheap. */
const signs: Readonly<Record<string, string>> = { email: '@', phone: '+' };

/** Where no file says otherwise. */
export const usualMasks: Masks = { patterns: Object.entries(builtIn), fields: [] };

const name = z.string().regex(/^[a-z][a-z0-9-]{0,39}$/);
const fileSchema = z.strictObject({
  builtIn: z.array(z.enum(Object.keys(builtIn) as [string, ...string[]])).optional(),
  patterns: z.record(name, z.string().min(1).max(1_000)).default({}),
  fields: z.array(z.string().min(1).max(100)).default([]),
});

const invalid = (path: string, problem: string): LongreinError =>
  new LongreinError('MASKS_INVALID', `${path}: ${problem}`, {
    fix: 'write `builtIn: [email, iban, card, phone]`, `patterns: { NAME: REGULAR EXPRESSION }`, `fields: [NAME]`, each if wanted',
  });

/** RE2 knows no looking around and no references back. */
const notInRe2 = /\(\?<?[=!]|\\[1-9]/;

function checked(path: string, [rule, source]: readonly [string, string]): void {
  try {
    if (new RegExp(source, 'g').test(''))
      throw invalid(path, `the pattern ${rule} fits nothing at all`);
  } catch (thrown) {
    if (thrown instanceof LongreinError) throw thrown;
    throw invalid(path, `the pattern ${rule} is none: ${toError(thrown).message}`);
  }
  if (notInRe2.test(source))
    throw invalid(path, `the pattern ${rule} looks around or back, which ClickHouse cannot`);
}

/** The masks of a file. Throws LongreinError MASKS_INVALID. */
export function readMasks(path: string): Masks {
  let data: unknown;
  try {
    data = parse(readFileSync(path, 'utf8'));
  } catch (thrown) {
    throw invalid(path, toError(thrown).message);
  }
  const parsed = fileSchema.safeParse(data ?? {});
  if (!parsed.success)
    throw invalid(
      path,
      parsed.error.issues.map((one) => `${one.path.join('.')} ${one.message}`).join('; '),
    );
  const { builtIn: chosen = Object.keys(builtIn), patterns, fields } = parsed.data;
  const own = Object.entries(patterns);
  for (const one of own) checked(path, one);
  const usual = chosen.map((one) => [one, builtIn[one] ?? ''] as const);
  return { patterns: [...usual, ...own], fields: fields.map((one) => one.toLowerCase()) };
}

/** The masks of this file, or the usual ones. */
export const masksFrom = (path: string | undefined): Masks =>
  path === undefined ? usualMasks : readMasks(path);

/** What stands in the place of something. */
export const maskOf = (rule: string): string => `[masked:${rule}]`;

/** Texts without personal data, by their form. */
export function textMask({ patterns }: Masks): (text: string) => string {
  const rules = patterns.map(([rule, source]) => {
    const sign = source === builtIn[rule] ? (signs[rule] ?? '') : '';
    return { pattern: new RegExp(source, 'g'), mask: maskOf(rule), sign };
  });
  return (text) =>
    rules.reduce(
      (rest, { pattern, mask, sign }) => (rest.includes(sign) ? rest.replace(pattern, mask) : rest),
      text,
    );
}
