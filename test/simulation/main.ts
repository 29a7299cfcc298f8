import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type AblatableRule, ablatableRules, rulesNamed } from '../../services/chassis/ablation.ts';
import { LongreinError, toError } from '../../services/chassis/errors.ts';
import { reportOf, runDrawn, tryOut } from './batch.ts';
import { type Failure, type Smallest, smallest, storeSchedule, storyOf } from './failure.ts';
import { pin } from './pin.ts';
import { realBrokerOnly } from './rules.ts';
import { readSchedule } from './schedule-file.ts';
import { schedulePlayed } from './world/brief.ts';
import type { Coverage } from './world/coverage.ts';
import { scheduleOf } from './world/schedule.ts';

/**
 * One process of `npm run simulate`: runs seeds, or one stored schedule, and prints what fails, then its counts as one
 * JSON line on standard output.
 */

const shrinkBounds = { runsMax: 400, timeMsMax: 60_000 };

/** Seeds that failed are shrunk in each process; more would only say the same for longer. */
const shrunkMax = 2;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '100' },
    from: { type: 'string', default: '1' },
    minutes: { type: 'string', default: '0' },
    step: { type: 'string', default: '1' },
    ablate: { type: 'string' },
    schedule: { type: 'string' },
    out: { type: 'string', default: '.' },
    pin: { type: 'boolean', default: false },
    long: { type: 'boolean', default: false },
    violates: { type: 'string', default: '' },
  },
});

const say = (text: string): void => {
  process.stderr.write(`${text}\n`);
};

function ruleOf(name: string | undefined): AblatableRule | undefined {
  if (name === undefined) return undefined;
  const rules = rulesNamed([name]);
  const [rule] = rules;
  if (rules.length > 1 || rule === undefined)
    throw new LongreinError('ABLATION_MANY', `--ablate takes one rule, and "${name}" is several`, {
      fix: `name one of ${rules.join(', ')}`,
    });
  if (realBrokerOnly.has(rule))
    throw new LongreinError('ABLATION_REAL', `only a real broker can break rule ${rule}`, {
      fix: `run \`npm run torture\` with LONGREIN_ABLATE=${rule}`,
    });
  return rule;
}

const commandOf = (path: string): string => `npm run simulate -- --schedule ${path}`;

/** Shrinks a failure, stores it where it can be run again, and tells its story. */
async function explain(failure: Failure, name: string): Promise<Smallest> {
  const found = await smallest(failure, shrinkBounds);
  const path = join(values.out, `${name}.json`);
  storeSchedule(path, found);
  say(`${storyOf(found)}\nAgain: ${commandOf(path)}\n`);
  return found;
}

const coverage: Coverage = new Map();
const failed: number[] = [];
const rules: Record<string, number> = {};
let schedules = 0;
let records = 0;

function count(violated: readonly { rule: string }[]): void {
  for (const rule of new Set(violated.map((one) => one.rule))) rules[rule] = (rules[rule] ?? 0) + 1;
}

async function runSeeds(ablate: AblatableRule | undefined): Promise<void> {
  const [from, seeds, step] = [Number(values.from), Number(values.seeds), Number(values.step)];
  const minutes = Number(values.minutes);
  const endMs = minutes === 0 ? Number.POSITIVE_INFINITY : Date.now() + minutes * 60_000;
  for (let seed = from; seed < from + seeds * step && Date.now() < endMs; seed += step) {
    const schedule = values.long ? scheduleOf(seed) : schedulePlayed(seed);
    const result = await runDrawn(schedule, coverage, ablate);
    schedules += 1;
    records += result.records;
    process.send?.({ schedules, failed: failed.length });
    if (result.violations.length === 0) continue;
    failed.push(seed);
    count(result.violations);
    say(reportOf(result, ablate));
    const { violations } = result;
    const name = `${ablate === undefined ? 'seed' : `without-${ablate}`}-${seed}`;
    if (failed.length <= shrunkMax) await explain({ schedule, violations, ablate }, name);
    if (ablate !== undefined) return;
  }
}

/** A stored schedule, with each of its seeds until one fails. */
async function runStored(path: string, ablate: AblatableRule | undefined): Promise<void> {
  const stored = readSchedule(path);
  const rule = ablate ?? stored.rule;
  if (rule !== undefined) say(`Rule ${rule} is taken away: ${ablatableRules[rule]}.`);
  for (const seed of stored.seeds) {
    const schedule = { ...stored.schedule, seed };
    const { run, violations } = await tryOut({ schedule, ablate: rule });
    schedules += 1;
    records += run?.history.lines.length ?? 0;
    for (const [name, times] of run?.coverage ?? []) coverage.set(name, times);
    if (violations.length === 0) continue;
    failed.push(seed);
    count(violations);
    say(storyOf({ schedule, violations, ablate: rule, run, runs: 1 }));
    return;
  }
}

try {
  const startMs = Date.now();
  const ablate = ruleOf(values.ablate);
  if (values.pin && ablate !== undefined) {
    const { violates } = values;
    say(await pin(ablate, { from: Number(values.from), seeds: Number(values.seeds), violates }));
  } else if (values.schedule !== undefined) await runStored(values.schedule, ablate);
  else await runSeeds(ablate);
  const seconds = Math.round((Date.now() - startMs) / 100) / 10;
  const counts = Object.fromEntries(coverage);
  const summary = { schedules, seconds, records, failed, rules, coverage: counts };
  process.stdout.write(`${JSON.stringify(summary)}\n`);
} catch (thrown) {
  const error = toError(thrown);
  const fix = error instanceof LongreinError && error.fix !== undefined ? ` ${error.fix}.` : '';
  say(error instanceof LongreinError ? `${error.message}.${fix}` : (error.stack ?? error.message));
  process.exitCode = 2;
}
