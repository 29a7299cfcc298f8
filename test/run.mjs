// `npm test`: installs and builds what is missing, starts a stack of its own, runs every project of vitest, stops the
// stack, and ends with one line of counts taken from vitest's reports.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureBuilt, packageRoot } from '../deploy/local/bootstrap.mjs';

const quick = ['tidy', 'unit', 'property', 'replay', 'simulation'];
const real = ['contract', 'integration', 'system', 'issues'];

const scratch = mkdtempSync(join(tmpdir(), 'longrein-run-'));

function runVitest(projects, report, env, more = []) {
  const vitest = join(packageRoot, 'node_modules', 'vitest', 'vitest.mjs');
  const chosen = projects.flatMap((name) => ['--project', name]);
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const args = [vitest, 'run', '--passWithNoTests', ...chosen, ...reporters, ...more];
  return new Promise((resolve, reject) => {
    // What tests put into the temporary directory goes with the run.
    const environment = { ...process.env, TMPDIR: scratch, ...env };
    const options = { cwd: packageRoot, stdio: 'inherit', env: environment };
    const child = spawn(process.execPath, args, options);
    child.on('error', reject);
    child.on('close', (code) => resolve(code ?? 1));
  });
}

function countsOf(report) {
  try {
    const { numPassedTests, numFailedTests, numPendingTests, numTodoTests, testResults } =
      JSON.parse(readFileSync(report, 'utf8'));
    const broken = testResults.filter(
      (file) => file.status === 'failed' && file.assertionResults.length === 0,
    );
    return {
      passed: numPassedTests,
      failed: numFailedTests + broken.length,
      skipped: numPendingTests + numTodoTests,
    };
  } catch {
    return { passed: 0, failed: 1, skipped: 0 };
  }
}

async function withStack(run) {
  const stateDir = mkdtempSync(join(tmpdir(), 'longrein-test-'));
  process.env.LONGREIN_STATE_DIR = join(stateDir, '.longrein');
  const { up, down } = await import('../dist/deploy/local/stack.js');
  const tell = (event) => {
    if (event.kind === 'step')
      process.stderr.write(`  ${event.name} ${event.state} ${event.detail}\n`);
  };
  try {
    const stack = await up({}, tell);
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
    await down({ wipe: true }, tell);
    rmSync(stateDir, { recursive: true, force: true });
  }
}

await ensureBuilt({ quiet: true, tests: true });
const filters = process.argv.slice(2);
const first = join(scratch, 'quick.json');
const second = join(scratch, 'real.json');
const codes = [await runVitest(quick, first, {}, filters)];
codes.push(
  await withStack((env) => runVitest(real, second, env, ['--no-file-parallelism', ...filters])),
);
const counts = [first, second].map(countsOf);
const sum = (name) => counts.reduce((total, one) => total + one[name], 0);
rmSync(scratch, { recursive: true, force: true });
process.stdout.write(
  `${sum('passed')} passed, ${sum('failed')} failed, ${sum('skipped')} skipped\n`,
);
process.exit(sum('failed') > 0 || codes.some((code) => code !== 0) ? 1 : 0);
