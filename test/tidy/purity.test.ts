import { expect, test } from 'vitest';
import { bareCode, importsOf, type SourceFile, sourceFiles } from '../support/source-tree.ts';

/** Pure code sees no clock, no random, no environment and no I/O. What `decide.ts` imports of its own service counts too. */

const all = sourceFiles(/\.ts$/);
const byPath = new Map(all.map((file) => [file.path, file]));

function reachable(start: SourceFile): SourceFile[] {
  const found = new Map<string, SourceFile>([[start.path, start]]);
  for (const file of found.values()) {
    for (const { to, types } of importsOf(file)) {
      const next = byPath.get(to);
      if (next !== undefined && !types) found.set(next.path, next);
    }
  }
  return [...found.values()];
}

const roots = all.filter(
  ({ path }) =>
    /^schemas\/[^/]+\.ts$/.test(path) ||
    path.startsWith('schemas/definitions/') ||
    path.startsWith('state-machines/') ||
    path.startsWith('services/chassis/protocol/') ||
    /^services\/[^/]+\/decide\.ts$/.test(path),
);
const pure = [...new Map(roots.flatMap(reachable).map((file) => [file.path, file])).values()];

/** The one place that may hash. */
const hashing = 'services/chassis/protocol/hash.ts';

test('pure code imports no module of the platform', () => {
  const wrong = pure
    .flatMap(importsOf)
    .filter(({ from, to }) => to.startsWith('node:') && from !== hashing);
  expect(wrong).toEqual([]);
});

test('pure code reads no clock, random or environment', () => {
  const forbidden =
    /\bDate\.now\(|\bnew Date\(\)|\bMath\.random\(|\bprocess\.|\bperformance\.|\bsetTimeout\(|\bfetch\(|\bconsole\./;
  const wrong = pure.filter(({ text }) => forbidden.test(bareCode(text))).map(({ path }) => path);
  expect(wrong).toEqual([]);
});

test('decisions are plain functions: nothing asynchronous', () => {
  const wrong = pure.filter(({ text }) => /\basync\b|\bawait\b|\bPromise\b/.test(bareCode(text)));
  expect(wrong.map(({ path }) => path)).toEqual([]);
});

test('every service has a decide.ts that is among the pure files', () => {
  const services = [
    'aggregator',
    'event-store',
    'intake',
    'model-gateway',
    'planner',
    'sandbox-executor',
  ];
  services.push('supervisor', 'tool-guard', 'tool-runner', 'worker-pool');
  const paths = pure.map(({ path }) => path);
  for (const service of services) expect(paths).toContain(`services/${service}/decide.ts`);
});
