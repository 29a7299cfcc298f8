import { expect, test } from 'vitest';
import { foundBySeed } from '../simulation/found-by-seed.ts';
import { bareCode, sourceFiles } from '../support/source-tree.ts';

/**
 * A checker that was never seen to find anything may find nothing ever. Each is shown what it is there for: by a rule that is
 * taken away (`pinned`), by a break of the code (`ablations.ts`), or by a log made by hand that says what must not be.
 */

const files = sourceFiles(/\.(ts|json)$/).filter(({ path }) => path.startsWith('test/simulation/'));
const textOf = (wanted: (path: string) => boolean): string =>
  files
    .filter(({ path }) => wanted(path))
    .map(({ text }) => text)
    .join('\n');

const checkers = files.filter(({ path }) => path.startsWith('test/simulation/checkers/'));
const rules = checkers.flatMap(({ path, text }) =>
  [...text.matchAll(/\bconst (?:rule|\w+Rule|ends) =\s+'([^']+)'/g)].map(([, rule = '']) => ({
    path,
    rule,
  })),
);
const named = checkers.flatMap(({ path, text }) =>
  [...text.matchAll(/^export const (\w+): Checker =/gm)].map(([, name = '']) => ({ path, name })),
);

/** Broken on purpose; what is found is named there. */
const broken = textOf(
  (path) => path.startsWith('test/simulation/pinned/') || path.endsWith('/ablations.ts'),
);
const byHand = files.filter(({ path }) => path.endsWith('.test.ts'));

/** Whether a test calls it. */
const isFedBy = (text: string, name: string): boolean =>
  new RegExp(`import \\{[^}]*\\b${name}\\b[^}]*\\} from './checkers/`).test(text) &&
  new RegExp(`\\b${name}\\(`).test(bareCode(text));

test('the simulation has its checkers, and they have rules', () => {
  expect(rules.length).toBeGreaterThan(35);
  expect(named.length).toBeGreaterThan(30);
});

test('every checker is shown what it is there for', () => {
  const isShown = ({ path, rule }: (typeof rules)[number]): boolean => {
    if (broken.includes(`'${rule}'`) || broken.includes(`"${rule}"`)) return true;
    if (byHand.some(({ text }) => text.includes(`'${rule}'`))) return true;
    const own = named.filter((one) => one.path === path);
    return (
      own.length > 0 && own.every(({ name }) => byHand.some(({ text }) => isFedBy(text, name)))
    );
  };
  expect(rules.filter((one) => !isShown(one))).toEqual([]);
});

test('every checker is asked', () => {
  const asked = textOf((path) => /\/(checkers|batch)\.ts$/.test(path));
  expect(named.filter(({ name }) => !asked.includes(name))).toEqual([]);
});

test('what seeds have found is kept by a test that names its seed', () => {
  const texts = new Map(sourceFiles(/\.ts$/).map(({ path, text }) => [path, text]));
  const isNamed = ({ seed, test: path }: (typeof foundBySeed)[number]): boolean =>
    texts.get(path)?.includes(`seed ${seed}`) === true;
  expect(foundBySeed.filter((one) => !isNamed(one))).toEqual([]);
});
