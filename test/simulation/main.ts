import { parseArgs } from 'node:util';
import { reportOf, runSeed } from './batch.ts';
import type { Coverage } from './world/coverage.ts';

/** One process of `npm run simulate`: runs seeds and prints what fails, then its counts as one JSON line. */

function numberOf(text: string | undefined, fallback: number): number {
  const value = text === undefined ? fallback : Number(text);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new Error(`"${text}" is not a whole number`);
}

const { values } = parseArgs({
  options: {
    seeds: { type: 'string' },
    from: { type: 'string' },
    minutes: { type: 'string' },
    step: { type: 'string' },
  },
});
const from = numberOf(values.from, 1);
const count = numberOf(values.seeds, 100);
const step = Math.max(1, numberOf(values.step, 1));
const minutes = numberOf(values.minutes, 0);
const endMs = minutes === 0 ? Number.POSITIVE_INFINITY : Date.now() + minutes * 60_000;

const startMs = Date.now();
const coverage: Coverage = new Map();
const failed: number[] = [];
const rules: Record<string, number> = {};
let schedules = 0;
let records = 0;
for (let seed = from; seed < from + count * step && Date.now() < endMs; seed += step) {
  const result = await runSeed(seed, coverage);
  schedules += 1;
  records += result.records;
  if (result.violations.length === 0) continue;
  failed.push(seed);
  for (const rule of new Set(result.violations.map((one) => one.rule)))
    rules[rule] = (rules[rule] ?? 0) + 1;
  process.stderr.write(`${reportOf(result)}\n`);
}
const seconds = Math.round((Date.now() - startMs) / 100) / 10;
const counts = Object.fromEntries(coverage);
const summary = { schedules, seconds, records, failed, rules, coverage: counts };
process.stdout.write(`${JSON.stringify(summary)}\n`);
