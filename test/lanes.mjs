// Which test files run side by side. Plain JavaScript: it runs before anything is built.
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { packageRoot } from '../deploy/local/bootstrap.mjs';

/**
 * quick: computes; as many files at once as there are processors, behind all others;
 * plain: needs no broker and watches the clock, and shared: needs the stack of the run; one file after the other, since
 * hosts of two would work on the same topics;
 * own: starts its own broker or engine; one file after the other, beside plain and shared;
 * last: needs all of the machine; after the others but quick.
 */
export const laneNames = ['quick', 'plain', 'shared', 'own', 'last'];

const projects = {
  quick: ['tidy', 'unit', 'property', 'replay', 'simulation'],
  real: ['contract', 'integration', 'system', 'issues'],
};

const needsLast = /\/torture\.test\.ts$/;
const needsShared = /stackUnderTest|LONGREIN_TEST_/;
const needsOwn =
  /torture\/(scene|stage|broker-cluster)|own-backing|embedded-clickhouse|clickhouse-under-test|deploy\/local|cli-process|fake-engine/;

/** What a file of a project with the real world imports says what it needs. */
function laneOf(path) {
  if (projects.quick.includes(path.split('/')[1])) return 'quick';
  if (needsLast.test(path)) return 'last';
  const text = readFileSync(join(packageRoot, path), 'utf8');
  if (needsShared.test(text)) return 'shared';
  if (needsOwn.test(text)) return 'own';
  // Those of issues are sessions in memory, with a clock of their own.
  return path.startsWith('test/issues/') ? 'quick' : 'plain';
}

const isTest = (entry) => entry.isFile() && entry.name.endsWith('.test.ts');

function testFiles() {
  return [...projects.quick, ...projects.real].flatMap((project) =>
    readdirSync(join(packageRoot, 'test', project), { recursive: true, withFileTypes: true })
      .filter(isTest)
      .map(({ parentPath, path, name }) => relative(packageRoot, join(parentPath ?? path, name)))
      .map((path) => path.replaceAll('\\', '/')),
  );
}

/** Lane -> its files, of those whose path holds one of the filters. */
export function lanesOf(filters) {
  const wanted = testFiles().filter(
    (path) => filters.length === 0 || filters.some((filter) => path.includes(filter)),
  );
  const lanes = Object.fromEntries(laneNames.map((name) => [name, []]));
  for (const path of wanted.sort()) lanes[laneOf(path)].push(path);
  return lanes;
}
