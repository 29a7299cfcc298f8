import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { expect, test } from 'vitest';
import { packageRoot } from '../../services/chassis/config/package-root.ts';
import { bareCode, sourceFiles } from '../support/source-tree.ts';

/** Sizes, names and words that a linter does not know. */

const files = sourceFiles(/\.(ts|mjs)$/);
const code = files.filter(({ path }) => !path.startsWith('test/'));

test('no source file is longer than 300 lines, no test longer than 500', () => {
  const wrong = files.filter(({ path, lines }) => lines > (path.startsWith('test/') ? 500 : 300));
  expect(wrong.map(({ path, lines }) => `${path}: ${lines}`)).toEqual([]);
});

function longFunctions(path: string, text: string): string[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body !== undefined) {
      const from = source.getLineAndCharacterOfPosition(node.getStart(source)).line;
      const to = source.getLineAndCharacterOfPosition(node.end).line;
      // The inside of the sandbox is one closure by its nature: what it defines must not be reachable from outside.
      if (to - from + 1 > 60 && !path.endsWith('quickjs-prelude.mjs'))
        found.push(`${path}:${from + 1} has ${to - from + 1} lines`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

test('no function is longer than 60 lines', () => {
  expect(code.flatMap(({ path, text }) => longFunctions(path, text))).toEqual([]);
});

test('there is no any, no switched-off check and no skipped test', () => {
  const holes = /(:\s*any\b|\bas any\b|<any>)/;
  // These stand in comments, which bare code has none of.
  const switchedOff = /@ts-(ignore|expect-error|nocheck)|biome-ignore/;
  const skipped = /\b(it|test|describe)\.(skip|only|todo|skipIf|runIf)\b/;
  const wrong = files
    .filter(({ path }) => !path.startsWith('test/tidy/'))
    .filter(
      ({ text }) => holes.test(bareCode(text)) || switchedOff.test(text) || skipped.test(text),
    );
  expect(wrong.map(({ path }) => path)).toEqual([]);
});

test('files carry nouns, not drawers', () => {
  const drawers = /(^|[-/])(utils?|helpers?|manager|common|misc|base|impl)([-.]|$)/;
  expect(files.filter(({ path }) => drawers.test(path)).map(({ path }) => path)).toEqual([]);
});

test('the environment is read in config files and the local stack only', () => {
  const allowed =
    /(^|\/)config\.ts$|runtime-config\.ts$|^deploy\/local\/|^services\/console\/|^test\//;
  const wrong = files.filter(
    ({ path, text }) => /process\.env\b/.test(text) && !allowed.test(path),
  );
  expect(wrong.map(({ path }) => path)).toEqual([]);
});

test('a service is decide.ts, service.ts, config.ts where it has settings, and main.ts', () => {
  const services = readdirSync(join(packageRoot, 'services'), { withFileTypes: true })
    .filter(
      (entry) => entry.isDirectory() && !['chassis', 'console', 'client'].includes(entry.name),
    )
    .map((entry) => entry.name);
  expect(services.length).toBeGreaterThanOrEqual(10);
  const missing = services.flatMap((name) =>
    ['decide.ts', 'service.ts', 'main.ts']
      .filter((file) => !existsSync(join(packageRoot, 'services', name, file)))
      .map((file) => `${name}/${file}`),
  );
  expect(missing).toEqual([]);
});

test('each first-level folder says what belongs in it, in at most 30 lines', () => {
  for (const folder of [
    'schemas',
    'state-machines',
    'services',
    'deploy',
    'replay-tools',
    'test',
  ]) {
    const text = readFileSync(join(packageRoot, folder, 'README.md'), 'utf8');
    expect(text.split('\n').length, folder).toBeLessThanOrEqual(31);
  }
});

test('dependencies are pinned exactly', () => {
  const { dependencies, devDependencies } = JSON.parse(
    readFileSync(join(packageRoot, 'package.json'), 'utf8'),
  ) as Record<string, Record<string, string>>;
  const loose = Object.entries({ ...dependencies, ...devDependencies }).filter(
    ([, version]) => !/^\d+\.\d+\.\d+$/.test(version),
  );
  expect(loose).toEqual([]);
});
