import { expect, test } from 'vitest';
import { sourceFiles } from '../support/source-tree.ts';

/** Rules can be taken away for tests (`services/chassis/ablation.ts`); nobody else may come to depend on it. */

const files = sourceFiles(/\.(ts|mjs)$/).filter(({ path }) => !path.startsWith('test/tidy/'));
const users = (word: RegExp): string[] =>
  files.filter(({ text }) => word.test(text)).map(({ path }) => path);

test('only chassis code asks whether a rule is taken away', () => {
  const wrong = users(/\bablated\(/).filter((path) => !path.startsWith('services/chassis/'));
  expect(wrong.filter((path) => path !== 'test/unit/services/chassis/ablation.test.ts')).toEqual(
    [],
  );
});

test('rules are taken away by the simulation and by the start of a host, and by nobody else', () => {
  const allowed = [
    /^services\/chassis\/ablation\.ts$/,
    /^services\/chassis\/host\/run-host\.ts$/,
    /^test\/simulation\//,
    /^test\/unit\/services\/chassis\/ablation\.test\.ts$/,
  ];
  const wrong = users(/\btakeAway\(/).filter((path) => !allowed.some((one) => one.test(path)));
  expect(wrong).toEqual([]);
});

test('the environment variable is read in one place', () => {
  const readers = users(/LONGREIN_ABLATE/).filter((path) => path.startsWith('services/'));
  expect(readers).toEqual(['services/chassis/config/runtime-config.ts']);
});

test('every rule that can be taken away is asked for somewhere', () => {
  const code = files
    .filter(({ path }) => path.startsWith('services/chassis/') && !path.endsWith('ablation.ts'))
    .map(({ text }) => text)
    .join('\n');
  const table = files.find(({ path }) => path === 'services/chassis/ablation.ts')?.text ?? '';
  const rules = [...table.matchAll(/^ {2}'(\d+[a-z])': /gm)].map(([, rule]) => rule);
  expect(rules.length).toBeGreaterThan(30);
  expect(rules.filter((rule) => !code.includes(`ablated('${rule}')`))).toEqual([]);
});
