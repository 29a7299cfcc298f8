import { expect } from 'vitest';
import { reportOf, runDrawn } from './batch.ts';
import { type Coverage, missingKinds, neededKinds } from './world/coverage.ts';
import { scheduleOf } from './world/schedule.ts';

/** Seeds of every test run: two files of so many each, which run beside each other on two processors. */
export const seedsOfHalf = 150;

/** Runs the long schedule of each seed, expects that all rules hold, and that between them everything happened. */
export async function expectClean(seeds: readonly number[]): Promise<void> {
  const coverage: Coverage = new Map();
  const failures: string[] = [];
  for (const schedule of seeds.map(scheduleOf)) {
    const result = await runDrawn(schedule, coverage);
    if (result.violations.length > 0) failures.push(reportOf(result));
  }
  expect(failures.join('\n')).toBe('');
  expect(missingKinds(coverage, neededKinds)).toEqual([]);
}

export const seedsFrom = (first: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, index) => first + index);
