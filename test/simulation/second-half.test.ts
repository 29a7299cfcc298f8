import { test } from 'vitest';
import { expectClean, seedsFrom, seedsOfHalf } from './seeds.ts';

test(`the next ${seedsOfHalf} seeded schedules of all services keep every rule, and between them everything happens`, async () => {
  await expectClean(seedsFrom(seedsOfHalf + 1, seedsOfHalf));
}, 4_000_000);
