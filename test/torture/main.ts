import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { paceOf } from './disturbance.ts';
import { tableOf } from './figures.ts';
import { recovery } from './recovery.ts';
import { torture } from './torture.ts';

const usage = `Runs brokers, registry, ClickHouse and services as processes under load, kills them at random, and checks the log.

  npm run torture -- [--minutes M] [--seed S] [--rate R] [--pace MS] [--spoil MS] [--ablate RULE] [--keep]
  npm run torture -- recovery [--sessions N]

  --minutes  how long load and kills go on, default 3
  --seed     of the schedule, default: one that is printed
  --rate     goals a second, default 1
  --pace     milliseconds between two disturbances, default 4500, less where the run is short
  --spoil    milliseconds between two requests to a broker that are spoiled, default 5000, with --ablate 500
  --patience seconds that the last goal may take after the last disturbance, default 180
  --ablate   the hosts go without this rule of DESIGN 3: 2 or 15; the checks must find it
  --keep     keeps the directory of the run where nothing was violated, too

  recovery   measures instead how long the sessions of one partition stand still when their host is killed
  --sessions how many live sessions the partition has, default 1000
`;

const text = { type: 'string' } as const;
const flag = { type: 'boolean', default: false } as const;

function numberOf(name: string, given: string | undefined, fallback: number): number {
  const value = given === undefined ? fallback : Number(given);
  if (Number.isFinite(value) && value > 0) return value;
  throw new Error(`--${name} takes a number above 0, not "${given}".`);
}

const options = {
  minutes: text,
  seed: text,
  rate: text,
  pace: text,
  spoil: text,
  patience: text,
  ablate: text,
  sessions: text,
  keep: flag,
  help: flag,
} as const;

const read = (args: readonly string[]) =>
  parseArgs({ args: [...args], allowPositionals: true, options });
type Values = ReturnType<typeof read>['values'];
type Place = Readonly<{ dir: string; say(line: string): void }>;

/** Runs what the arguments say. Answers the exit code: 1 where a rule was violated or a figure is too high. */
export async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = read(args);
  if (values.help) {
    process.stdout.write(usage);
    return 0;
  }
  const dir = mkdtempSync(join(tmpdir(), 'longrein-torture-'));
  const startedMs = Date.now();
  const say = (line: string): void => {
    const seconds = ((Date.now() - startedMs) / 1_000).toFixed(1).padStart(7);
    process.stderr.write(`${seconds} s  ${line}\n`);
  };
  const run = positionals[0] === 'recovery' ? measured : tortured;
  const failed = await run(values, { dir, say });
  if (failed || values.keep) process.stdout.write(`logs and data: ${dir}\n`);
  else rmSync(dir, { recursive: true });
  return failed ? 1 : 0;
}

async function tortured(values: Values, { dir, say }: Place): Promise<boolean> {
  const seed = numberOf('seed', values.seed, 1 + (Date.now() % 1_000_000));
  say(`seed ${seed}, in ${dir}`);
  const minutes = numberOf('minutes', values.minutes, 3);
  const figures = await torture({
    dir,
    seed,
    minutes,
    goalsPerSecond: numberOf('rate', values.rate, 1),
    paceMs: numberOf('pace', values.pace, paceOf(minutes)),
    spoilMs: numberOf('spoil', values.spoil, values.ablate === undefined ? 5_000 : 500),
    patienceMs: numberOf('patience', values.patience, 180) * 1_000,
    ...(values.ablate === undefined ? {} : { ablate: values.ablate }),
    say,
  });
  process.stdout.write(`${tableOf(figures)}\n`);
  return figures.violations.length > 0;
}

const overRebalanceMsMax = 1_000;

async function measured(values: Values, { dir, say }: Place): Promise<boolean> {
  const sessions = numberOf('sessions', values.sessions, 1_000);
  const figures = await recovery({ dir, sessions, say });
  process.stdout.write(`${JSON.stringify({ bench: 'recovery', ...figures })}\n`);
  const overMs = figures.allMs - figures.rebalanceMs;
  process.stdout.write(`all moved ${overMs} ms after the group's own rebalance\n`);
  return overMs > overRebalanceMsMax;
}
