// `npm test`: installs and builds what is missing, runs every test, and ends with one line of counts taken from vitest's
// reports. What only computes runs while it builds. Files that do not get in each other's way run side by side (`lanes.mjs`); a stack is started for those that
// share one.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { stripVTControlCharacters } from 'node:util';
import { ensureBuilt, ensureInstalled, packageRoot } from '../deploy/local/bootstrap.mjs';
import { laneNames, lanesOf } from './lanes.mjs';
import { countsOf, failures, readReport, slowest } from './report.mjs';

const running = new Set();

/** What waits for a broker goes first: computing fills what it leaves. */
const behind = 10;

const isOfFile = /^\s*[✓❯×↓] .*\.test\.ts/;

/** Says at once which files are done, and holds all else, the failures in it, until the lane has ended. */
function tell(stream, held) {
  createInterface({ input: stream }).on('line', (line) => {
    if (isOfFile.test(stripVTControlCharacters(line))) process.stdout.write(`${line}\n`);
    else held.push(line);
  });
}

function runVitest(name, files, env) {
  if (files.length === 0) return Promise.resolve(0);
  const vitest = join(packageRoot, 'node_modules', 'vitest', 'vitest.mjs');
  const reporters = [
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${reportOf(name)}`,
  ];
  // By itself vitest leaves one processor to others: of two that is half.
  const order =
    name === 'quick' ? [`--maxWorkers=${availableParallelism()}`] : ['--no-file-parallelism'];
  const args = [vitest, 'run', ...reporters, ...order, ...files];
  return new Promise((resolve, reject) => {
    // What tests put into the temporary directory goes with the run.
    const environment = { ...process.env, TMPDIR: scratch, ...env };
    const stdio = ['ignore', 'pipe', 'pipe'];
    const child = spawn(process.execPath, args, { cwd: packageRoot, stdio, env: environment });
    if (name === 'quick') setPriority(child.pid, behind);
    running.add(child);
    const held = [];
    tell(child.stdout, held);
    tell(child.stderr, held);
    child.on('error', reject);
    child.on('close', (code) => {
      running.delete(child);
      process.stdout.write(`${held.join('\n')}\n`);
      resolve(code ?? 1);
    });
  });
}

async function withStack(run) {
  const stateDir = mkdtempSync(join(tmpdir(), 'longrein-test-'));
  process.env.LONGREIN_STATE_DIR = join(stateDir, '.longrein');
  const { up, down } = await import('../dist/deploy/local/stack.js');
  const say = (event) => {
    if (event.kind === 'step')
      process.stderr.write(`  ${event.name} ${event.state} ${event.detail}\n`);
  };
  try {
    const stack = await up({}, say);
    const env = {
      LONGREIN_TEST_BROKERS: stack.brokers.join(','),
      LONGREIN_TEST_REGISTRY_URL: stack.registryUrl,
      LONGREIN_TEST_CLICKHOUSE_URL: stack.clickhouseUrl,
      // All hosts of one log have to share it.
      LONGREIN_TEST_BLOB_DIR: join(stateDir, '.longrein', 'blobs'),
      LONGREIN_STATE_DIR: '',
    };
    return await run(env);
  } finally {
    await down({ wipe: true }, say);
    rmSync(stateDir, { recursive: true, force: true });
  }
}

const ownEnv = { LONGREIN_STATE_DIR: '' };

async function runShared({ plain, shared }) {
  const code = await runVitest('plain', plain, ownEnv);
  if (shared.length === 0) return [code];
  return [code, await withStack((env) => runVitest('shared', shared, env))];
}

async function runReal(lanes) {
  try {
    const first = await Promise.all([runShared(lanes), runVitest('own', lanes.own, ownEnv)]);
    return [...first.flat(), await runVitest('last', lanes.last, ownEnv)];
  } catch (error) {
    process.stderr.write(`${error.message}${error.fix === undefined ? '' : ` ${error.fix}.`}\n`);
    return [1];
  }
}

/** Only processes of their own, as hosts are, run from the build; all else runs from the sources meanwhile. */
async function buildFor(lanes) {
  if (laneNames.every((name) => name === 'quick' || lanes[name].length === 0)) return;
  try {
    await ensureBuilt({ quiet: true, tests: true });
  } catch (error) {
    for (const child of running) child.kill();
    process.stderr.write(`${error.message}\n`);
    rmSync(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
    process.exit(1);
  }
}

const reportOf = (lane) => join(scratch, `${lane}.json`);

const startMs = Date.now();
await ensureInstalled({ quiet: true });
const scratch = mkdtempSync(join(tmpdir(), 'longrein-run-'));
const lanes = lanesOf(process.argv.slice(2));
const quick = runVitest('quick', lanes.quick, {});
await buildFor(lanes);
const codes = [...(await runReal(lanes)), await quick];
const ran = laneNames.filter((name) => lanes[name].length > 0);
const reports = Object.fromEntries(ran.map((name) => [name, readReport(reportOf(name))]));
const counts = Object.values(reports).map(countsOf);
const sum = (name) => counts.reduce((total, one) => total + one[name], 0);
// A worker that was given up may still write there.
rmSync(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
const seconds = Math.round((Date.now() - startMs) / 1_000);
const slow = slowest(Object.values(reports), packageRoot);
process.stdout.write(`The slowest files:\n${slow.join('\n')}\n${seconds} s\n`);
for (const line of failures(reports, packageRoot)) process.stdout.write(`${line}\n`);
if (ran.length === 0) process.stderr.write('No test file has such a path.\n');
const code = sum('failed') > 0 || ran.length === 0 || codes.some((one) => one !== 0) ? 1 : 0;
// What was printed may still be on its way into a pipe: an exit would drop it.
process.stdout.write(
  `${sum('passed')} passed, ${sum('failed')} failed, ${sum('skipped')} skipped\n`,
  () => process.exit(code),
);
