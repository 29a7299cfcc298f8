import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { paceOf } from './disturbance.ts';
import { tableOf } from './figures.ts';
import { torture } from './torture.ts';

const usage = `Runs brokers, registry, ClickHouse and services as processes under load, kills them at random, and checks the log.

  npm run torture -- [--minutes M] [--seed S] [--rate R] [--pace MS] [--ablate RULE] [--keep]

  --minutes  how long load and kills go on, default 3
  --seed     of the schedule, default: one that is printed
  --rate     goals a second, default 1
  --pace     milliseconds between two disturbances, default 4500, less where the run is short
  --patience seconds that the last goal may take after the last disturbance, default 180
  --ablate   the hosts go without this rule of DESIGN 3: 2 or 15; the checks must find it
  --keep     keeps the directory of the run where nothing was violated, too
`;

const text = { type: 'string' } as const;
const flag = { type: 'boolean', default: false } as const;

function numberOf(name: string, given: string | undefined, fallback: number): number {
  const value = given === undefined ? fallback : Number(given);
  if (Number.isFinite(value) && value > 0) return value;
  throw new Error(`--${name} takes a number above 0, not "${given}".`);
}

/** Runs the torture as the arguments say. Answers the exit code: 1 where a rule was violated. */
export async function main(args: readonly string[]): Promise<number> {
  const options = { minutes: text, seed: text, rate: text, pace: text, patience: text } as const;
  const { values } = parseArgs({
    args: [...args],
    options: { ...options, ablate: text, keep: flag, help: flag },
  });
  if (values.help) {
    process.stdout.write(usage);
    return 0;
  }
  const seed = numberOf('seed', values.seed, 1 + (Date.now() % 1_000_000));
  const dir = mkdtempSync(join(tmpdir(), 'longrein-torture-'));
  const startedMs = Date.now();
  const say = (line: string): void => {
    const seconds = ((Date.now() - startedMs) / 1_000).toFixed(1).padStart(7);
    process.stderr.write(`${seconds} s  ${line}\n`);
  };
  say(`seed ${seed}, in ${dir}`);
  const minutes = numberOf('minutes', values.minutes, 3);
  const figures = await torture({
    dir,
    seed,
    minutes,
    goalsPerSecond: numberOf('rate', values.rate, 1),
    paceMs: numberOf('pace', values.pace, paceOf(minutes)),
    patienceMs: numberOf('patience', values.patience, 180) * 1_000,
    ...(values.ablate === undefined ? {} : { ablate: values.ablate }),
    say,
  });
  process.stdout.write(`${tableOf(figures)}\n`);
  const failed = figures.violations.length > 0;
  if (failed || values.keep) process.stdout.write(`logs and data: ${dir}\n`);
  else rmSync(dir, { recursive: true });
  return failed ? 1 : 0;
}
