import { expect, test } from 'vitest';
import { reportOf, runSeed } from './batch.ts';
import { type Coverage, missingKinds, neededKinds } from './world/coverage.ts';

/**
 * So many seeds take about half a minute on an idle processor and a minute on two busy ones. `npm run simulate` runs as
 * many as one likes; a seed that fails prints the command that runs it alone.
 */
const seeds = 120;

test(`${seeds} seeded schedules of all services keep every rule, and between them every fault occurs`, async () => {
  const coverage: Coverage = new Map();
  const failures: string[] = [];
  for (let seed = 1; seed <= seeds; seed++) {
    const result = await runSeed(seed, coverage);
    if (result.violations.length > 0) failures.push(reportOf(result));
  }
  expect(failures.join('\n')).toBe('');
  expect(missingKinds(coverage, neededKinds)).toEqual([]);
}, 290_000);
