import { test } from 'vitest';
import { expectClean, seedsFrom, seedsOfHalf } from './seeds.ts';

/**
 * `npm run simulate` runs as many seeds as one likes; one that fails prints the command that runs it alone. The other half
 * of the seeds of a test run is in a file of its own, so that both processors have work.
 */
test(`the first ${seedsOfHalf} seeded schedules of all services keep every rule, and between them everything happens`, async () => {
  await expectClean(seedsFrom(1, seedsOfHalf));
}, 4_000_000);
