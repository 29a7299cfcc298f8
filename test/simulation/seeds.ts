import { expect } from 'vitest';
import { reportOf, runDrawn } from './batch.ts';
import { type Coverage, missingKinds, neededKinds } from './world/coverage.ts';
import { scheduleOf } from './world/schedule.ts';

/** Seeds of every test run: two files of so many each, which run beside each other on two processors. */
export const seedsOfHalf = 150;

/** Where seeds begin that are played besides, until what is rare has happened too. */
const besideFrom = 100_000;

/**
 * Runs the long schedule of each seed, expects that all rules hold, and that between them everything happened. What happens
 * in two of a hundred schedules may be missing in so many: then it is played on, up to as many again.
 */
export async function expectClean(seeds: readonly number[]): Promise<void> {
  const coverage: Coverage = new Map();
  const failures: string[] = [];
  const play = async (seed: number): Promise<void> => {
    const result = await runDrawn(scheduleOf(seed), coverage);
    if (result.violations.length > 0) failures.push(reportOf(result));
  };
  for (const seed of seeds) await play(seed);
  for (const seed of seeds) {
    if (missingKinds(coverage, neededKinds).length === 0) break;
    await play(besideFrom + seed);
  }
  expect(failures.join('\n')).toBe('');
  expect(missingKinds(coverage, neededKinds)).toEqual([]);
}

export const seedsFrom = (first: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, index) => first + index);
