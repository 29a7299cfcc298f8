// `npm run simulate -- --seeds N --from S --minutes M`: builds, runs seeds of the simulation in one process per processor,
// prints what fails as it fails, then the counts. Ends with 1 where a seed failed or a needed kind never occurred.
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureBuilt, packageRoot } from '../../deploy/local/bootstrap.mjs';
import { engineFlags } from './engine-flags.mjs';

const usage = `Runs all services over the log in memory, with faults, from seeds, and checks what must hold.

  npm run simulate -- [--seeds N] [--from S] [--minutes M] [--long] [--coverage] [--json]
  npm run simulate -- --schedule FILE [--ablate RULE]
  npm run simulate -- --ablate list | RULE [--seeds N] [--from S] [--pin]

  --seeds     how many seeds, default 300
  --from      the first one, default 1
  --minutes   stop after so many minutes, default: when all seeds are done
  --long      every schedule is a long one; else most are brief or short: five goals, few hosts, little time
  --coverage  fail where a kind of fault, event or transition never happened, however few the seeds
  --json      one JSON document on standard output, with every count
  --schedule  run a stored schedule: a file that an earlier run wrote for a seed that failed
  --ablate    take a rule of DESIGN 3 away and show the first seed in which that is noticed;
              "list" names the rules
  --pin       store what was found in test/simulation/pinned, for the tests
  --violates  with --pin: a part of the name of what must be found

A seed that fails is shrunk to the smallest schedule that still breaks the same rule. It is printed as a
timeline and written to a file that --schedule runs again.

What never happened in a run is listed. Ends with 1 where a rule was violated, or where of 5,000 seeds or more (300
long ones; of any with --coverage) no one showed a kind of fault that they should; with --ablate, where nothing was
noticed. Ends with 2 where the command makes no sense.

  npm run simulate -- --seeds 1 --from 418
  npm run simulate -- --ablate 9a --seeds 20
`;

const numbers = { seeds: '300', from: '1', minutes: '0' };

function read() {
  const whole = (name, text) => {
    if (/^\d{1,15}$/.test(text)) return Number(text);
    throw new Error(`--${name} takes a whole number, not "${text}".`);
  };
  const text = (value) => ({ type: 'string', default: value });
  const flag = { type: 'boolean', default: false };
  const { values } = parseArgs({
    options: {
      ...Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, text(value)])),
      ...{ ablate: { type: 'string' }, schedule: { type: 'string' }, violates: text('') },
      ...{ json: flag, help: flag, pin: flag, long: flag, coverage: flag },
    },
  });
  for (const name of Object.keys(numbers)) values[name] = whole(name, values[name]);
  if (values.seeds === 0) throw new Error('--seeds 0 runs nothing: give 1 or more.');
  if (values.pin && values.ablate === undefined)
    throw new Error('--pin stores what --ablate finds: name a rule with --ablate.');
  if (values.schedule === '') throw new Error('--schedule takes the path of a file.');
  return values;
}

/** Where schedules of failures go: with the build, which nobody keeps. */
const out = join(packageRoot, 'dist', 'simulation');

function argumentsOf(options, { index, count }) {
  const { ablate, schedule, pin, long } = options;
  return [
    join(packageRoot, 'dist', 'test', 'simulation', 'main.js'),
    ...['--from', options.from + index, '--step', count],
    ...['--seeds', Math.ceil((options.seeds - index) / count), '--minutes', options.minutes],
    ...['--out', relative(process.cwd(), out) || '.'],
    ...(ablate === undefined ? [] : ['--ablate', ablate]),
    ...(schedule === undefined ? [] : ['--schedule', resolve(schedule)]),
    ...(long ? ['--long'] : []),
    ...(pin ? ['--pin', '--violates', options.violates] : []),
  ].map(String);
}

/** Progress of all processes in one line that is written over, where somebody looks on. */
function progressOf(total) {
  const parts = new Map();
  let shownMs = 0;
  return (index, part) => {
    parts.set(index, part);
    if (!process.stderr.isTTY || Date.now() - shownMs < 200) return;
    shownMs = Date.now();
    const sum = (name) => [...parts.values()].reduce((all, one) => all + one[name], 0);
    process.stderr.write(
      `\r\u001b[K${sum('schedules')} of ${total} seeds, ${sum('failed')} failed\r`,
    );
  };
}

function work(options, place, onProgress) {
  return new Promise((done, reject) => {
    const stdio = ['ignore', 'pipe', 'inherit', 'ipc'];
    const child = spawn(process.execPath, [...engineFlags, ...argumentsOf(options, place)], {
      stdio,
    });
    let text = '';
    child.stdout.on('data', (chunk) => {
      text += chunk;
    });
    child.on('message', (part) => onProgress(place.index, part));
    child.on('error', reject);
    child.on('close', (code) => {
      if (code === 0) done(JSON.parse(text));
      // It has said why.
      else if (code === 2) process.exit(2);
      else reject(new Error(`a process of the simulation ended with ${code}`));
    });
  });
}

function total(parts) {
  const coverage = {};
  const rules = {};
  const sum = { schedules: 0, records: 0, failed: [], missing: [], rules, coverage };
  const add = (to, from) => {
    for (const [name, count] of Object.entries(from)) to[name] = (to[name] ?? 0) + count;
  };
  for (const part of parts) {
    sum.schedules += part.schedules;
    sum.records += part.records;
    sum.failed.push(...part.failed);
    add(coverage, part.coverage);
    add(rules, part.rules);
  }
  sum.failed.sort((a, b) => a - b);
  return sum;
}

const groups = [
  ['Faults', /^fault /],
  ['Hosts, goals, tools and models', /^(host|goal|tool|model|checkpoint) /],
  ['Event types', /^event /],
  ['Transitions', /^transition /],
  ['Refused by machines', /^refused /],
  ['The rest', /./],
];

function printCoverage(coverage, line) {
  const names = new Set(Object.keys(coverage));
  for (const [title, pattern] of groups) {
    const own = [...names].filter((name) => pattern.test(name)).sort();
    if (own.length === 0) continue;
    line(`${title} (${own.length} kinds)`);
    for (const name of own) {
      names.delete(name);
      line(`${String(coverage[name]).padStart(9)}  ${name}`);
    }
  }
}

function print({ schedules, records, failed, missing, coverage, seconds, rules }) {
  const line = (text) => process.stdout.write(`${text}\n`);
  printCoverage(coverage, line);
  const perMinute = Math.round((schedules / seconds) * 60);
  line(`${schedules} schedules, ${records} records, ${seconds} s, ${perMinute} schedules a minute`);
  for (const [rule, count] of Object.entries(rules)) line(`violated in ${count}: ${rule}`);
  if (missing.length > 0) line(`never happened (${missing.length} kinds): ${missing.join(', ')}`);
  line(`${failed.length} seeds failed${failed.length === 0 ? '' : `: ${failed.join(', ')}`}`);
}

/** So many seeds show every kind of fault, or the schedules have lost one. */
const seedsForCoverage = { long: 300, mixed: 5_000 };

async function simulate(options) {
  const one = options.ablate !== undefined || options.schedule !== undefined;
  const count = one ? 1 : Math.min(availableParallelism(), options.seeds);
  const startMs = Date.now();
  const onProgress = progressOf(options.seeds);
  const places = Array.from({ length: count }, (_, index) => ({ index, count }));
  const sum = total(await Promise.all(places.map((place) => work(options, place, onProgress))));
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K');
  const { missingKinds, neededKinds } = await import(
    '../../dist/test/simulation/world/coverage.js'
  );
  if (!one) sum.missing = missingKinds(new Map(Object.entries(sum.coverage)), neededKinds);
  const isEnough = sum.schedules >= seedsForCoverage[options.long ? 'long' : 'mixed'];
  const isShort = sum.missing.length > 0 && (options.coverage || isEnough);
  return { ...sum, isShort, seconds: Math.round((Date.now() - startMs) / 100) / 10 };
}

async function list() {
  const { ablatableRules } = await import('../../dist/services/chassis/ablation.js');
  const { realBrokerOnly } = await import('../../dist/test/simulation/rules.js');
  for (const [rule, what] of Object.entries(ablatableRules)) {
    const where = realBrokerOnly.has(rule) ? ' (real broker only)' : '';
    process.stdout.write(`${rule.padEnd(4)} ${what}${where}\n`);
  }
  return 0;
}

async function main(options) {
  await ensureBuilt({ quiet: true, tests: true });
  if (options.ablate === 'list') return list();
  const result = await simulate(options);
  if (options.json) process.stdout.write(`${JSON.stringify(result)}\n`);
  else if (!options.pin) print(result);
  const isBad = result.failed.length > 0 || result.isShort;
  // Without a rule, what is right is that something is noticed.
  if (options.ablate !== undefined && options.schedule === undefined)
    return isBad || options.pin ? 0 : 1;
  return isBad ? 1 : 0;
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
