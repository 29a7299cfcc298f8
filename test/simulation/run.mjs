// `npm run simulate -- --seeds N --from S --minutes M`: builds, runs seeds of the simulation in one process per processor,
// prints what fails as it fails, then the counts. Ends with 1 where a seed failed or a needed kind never occurred.
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureBuilt, packageRoot } from '../../deploy/local/bootstrap.mjs';

const usage = `Runs all services over the log in memory, with faults, from seeds, and checks what must hold.

  npm run simulate -- [--seeds N] [--from S] [--minutes M] [--json]

  --seeds    how many seeds, default 300
  --from     the first one, default 1
  --minutes  stop after so many minutes, default: when all seeds are done
  --json     one JSON document on standard output, with every count

  npm run simulate -- --seeds 1 --from 418
`;

function read() {
  const whole = (name, text) => {
    if (/^\d+$/.test(text)) return Number(text);
    throw new Error(`--${name} takes a whole number, not "${text}".`);
  };
  const text = (value) => ({ type: 'string', default: value });
  const options = { seeds: text('300'), from: text('1'), minutes: text('0') };
  const flags = {
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  };
  const { values } = parseArgs({ options: { ...options, ...flags } });
  const { json, help } = values;
  const numbers = Object.keys(options).map((name) => [name, whole(name, values[name])]);
  return { ...Object.fromEntries(numbers), json, help };
}

function work(options, { index, count }) {
  const seeds = Math.ceil((options.seeds - index) / count);
  const args = [
    join(packageRoot, 'dist', 'test', 'simulation', 'main.js'),
    ...['--from', options.from + index, '--step', count],
    ...['--seeds', seeds, '--minutes', options.minutes],
  ];
  return new Promise((resolve, reject) => {
    const stdio = ['ignore', 'pipe', 'inherit'];
    const child = spawn(process.execPath, args.map(String), { cwd: packageRoot, stdio });
    let out = '';
    child.stdout.on('data', (chunk) => {
      out += chunk;
    });
    child.on('error', reject);
    child.on('close', (code) => {
      if (out.trim() === '') reject(new Error(`A process of the simulation ended with ${code}.`));
      else resolve(JSON.parse(out));
    });
  });
}

function total(parts) {
  const coverage = {};
  const sum = { schedules: 0, records: 0, failed: [], missing: [], coverage };
  for (const part of parts) {
    sum.schedules += part.schedules;
    sum.records += part.records;
    sum.failed.push(...part.failed);
    for (const [name, count] of Object.entries(part.coverage))
      coverage[name] = (coverage[name] ?? 0) + count;
  }
  sum.failed.sort((a, b) => a - b);
  return sum;
}

function print({ schedules, records, failed, missing, coverage, seconds }) {
  const line = (text) => process.stdout.write(`${text}\n`);
  for (const name of Object.keys(coverage).sort())
    line(`${String(coverage[name]).padStart(9)}  ${name}`);
  const perMinute = Math.round((schedules / seconds) * 60);
  line(`${schedules} schedules, ${records} records, ${seconds} s, ${perMinute} schedules a minute`);
  if (missing.length > 0) line(`never happened: ${missing.join(', ')}`);
  line(`${failed.length} seeds failed${failed.length === 0 ? '' : `: ${failed.join(', ')}`}`);
}

/** So many seeds show every kind of fault, or the schedules have lost one. */
const seedsForCoverage = 300;

async function main(options) {
  await ensureBuilt({ quiet: true, tests: true });
  const count = Math.min(availableParallelism(), options.seeds);
  const startMs = Date.now();
  const parts = await Promise.all(
    Array.from({ length: count }, (_, index) => work(options, { index, count })),
  );
  const sum = total(parts);
  const { missingKinds, neededKinds } = await import(
    '../../dist/test/simulation/world/coverage.js'
  );
  if (sum.schedules >= seedsForCoverage)
    sum.missing = missingKinds(new Map(Object.entries(sum.coverage)), neededKinds);
  const seconds = Math.round((Date.now() - startMs) / 100) / 10;
  const result = { ...sum, seconds };
  if (options.json) process.stdout.write(`${JSON.stringify(result)}\n`);
  else print(result);
  return sum.failed.length + sum.missing.length > 0 ? 1 : 0;
}

let options;
try {
  options = read();
} catch (error) {
  process.stderr.write(`${error.message}\n\n${usage}`);
  process.exit(2);
}
if (options.help) process.stdout.write(usage);
else process.exitCode = await main(options);
