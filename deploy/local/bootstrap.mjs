// What makes a fresh clone runnable: dependencies and build, each only when it is missing or out of date. Plain
// JavaScript without dependencies, since nothing is installed when it runs first.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const packageRoot = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const modules = join(packageRoot, 'node_modules');
const dist = join(packageRoot, 'dist');
const productFolders = ['schemas', 'state-machines', 'services', 'deploy', 'replay-tools'];

const needed = [20, 19];

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > needed[0] || (major === needed[0] && minor >= needed[1])) return;
  process.stderr.write(
    `longrein needs Node ${needed.join('.')} or newer; this is ${process.versions.node}. Install a newer Node and run the command again.\n`,
  );
  process.exit(1);
}

function run(command, args, quiet) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: packageRoot, stdio: ['ignore', 'pipe', 'pipe'] });
    const output = [];
    const keep = (chunk) => {
      output.push(chunk);
      if (!quiet) process.stderr.write(chunk);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.on('error', reject);
    child.on('close', (code) => {
      if (code === 0) resolve();
      else
        reject(
          new Error(`${command} ${args.join(' ')} ended with ${code}:\n${Buffer.concat(output)}`),
        );
    });
  });
}

const hashFile = (path) => createHash('sha256').update(readFileSync(path)).digest('hex');

/** Dependencies are current if they were installed from this very lock file. */
function installed(mark) {
  return (
    existsSync(mark) &&
    readFileSync(mark, 'utf8') === hashFile(join(packageRoot, 'package-lock.json'))
  );
}

async function install(quiet) {
  const mark = join(modules, '.longrein-lock');
  if (installed(mark)) return;
  process.stderr.write('Installing dependencies (npm ci) …\n');
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  await run(npm, ['ci', '--no-audit', '--no-fund', '--loglevel=error'], quiet);
  writeFileSync(mark, hashFile(join(packageRoot, 'package-lock.json')));
}

function newestIn(folder) {
  let newest = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) newest = Math.max(newest, newestIn(path));
    else if (/\.(ts|json)$/.test(entry.name)) newest = Math.max(newest, statSync(path).mtimeMs);
  }
  return newest;
}

function built(mark, folders) {
  if (!existsSync(mark)) return false;
  const builtMs = statSync(mark).mtimeMs;
  return folders.every((folder) => newestIn(join(packageRoot, folder)) <= builtMs);
}

/** The product, or the product with its tests, simulation and benchmarks. */
async function build({ quiet, tests }) {
  const mark = join(dist, tests ? '.built-tests' : '.built');
  if (built(mark, tests ? [...productFolders, 'test'] : productFolders)) return;
  process.stderr.write(tests ? 'Building, tests included …\n' : 'Building …\n');
  const project = tests ? packageRoot : join(packageRoot, 'deploy', 'local', 'tsconfig.build.json');
  await run(process.execPath, [join(modules, 'typescript', 'bin', 'tsc'), '-p', project], quiet);
  writeFileSync(mark, '');
  if (tests) writeFileSync(join(dist, '.built'), '');
}

/** Installs what is missing: enough for what runs from the sources. Progress goes to standard error. */
export async function ensureInstalled({ quiet = true } = {}) {
  checkNode();
  await install(quiet);
}

/** Installs and builds what is missing. Progress goes to standard error. */
export async function ensureBuilt({ quiet = true, tests = false } = {}) {
  await ensureInstalled({ quiet });
  await build({ quiet, tests });
}
