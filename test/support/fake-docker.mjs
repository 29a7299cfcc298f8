// A `docker` for tests, which run where no engine is: it runs the java of the host in place of the one of an image,
// after the arguments that the real client would get. DOCKER_HOST is `fake:<directory>`; the directory holds
// `engine.json` (images, and what `info` and `pull` do), one file for each container, and `calls.log`.
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const dir = (process.env.DOCKER_HOST ?? '').replace(/^fake:/, '');
const engine = JSON.parse(readFileSync(join(dir, 'engine.json'), 'utf8'));
const containers = join(dir, 'containers');
const args = process.argv.slice(2);
mkdirSync(containers, { recursive: true });
appendFileSync(join(dir, 'calls.log'), `${JSON.stringify(args)}\n`);

function end(code, text) {
  (code === 0 ? process.stdout : process.stderr).write(`${text}\n`);
  process.exit(code);
}

function runs(pid) {
  const state = spawnSync('/bin/ps', ['-o', 'state=', '-p', String(pid)], { encoding: 'utf8' });
  return state.status === 0 && !state.stdout.trim().startsWith('Z');
}

/** As with --rm: one that ended is not there any more. */
function all() {
  const found = readdirSync(containers).map((name) =>
    JSON.parse(readFileSync(join(containers, name), 'utf8')),
  );
  return found.filter((one) => {
    if (runs(one.pid)) return true;
    rmSync(join(containers, one.id), { force: true });
    return false;
  });
}

function find(id) {
  return all().find((one) => one.id === id) ?? end(1, `Error: No such container: ${id}`);
}

const switches = ['--rm', '--init', '--read-only'];

function parseRun() {
  const options = [];
  let at = 1;
  while (args[at].startsWith('--')) {
    const isSwitch = switches.includes(args[at]);
    options.push([args[at], isSwitch ? '' : args[at + 1]]);
    at += isSwitch ? 1 : 2;
  }
  const values = (name) => options.filter(([key]) => key === name).map(([, value]) => value);
  return { values, image: args[at], command: args.slice(at + 1) };
}

function checkMounts(mounts) {
  for (const mount of mounts) {
    const source = /"source=(.*?)",/.exec(mount)?.[1]?.replaceAll('""', '"');
    if (!source || !existsSync(source)) {
      end(125, `docker: invalid mount config: bind source path does not exist: ${source}`);
    }
  }
}

function run() {
  const { values, image, command } = parseRun();
  const held = engine.images[image];
  if (held === undefined) end(125, `docker: No such image: ${image}`);
  if (held.java === undefined) end(127, 'docker: exec java failed: No such file or directory');
  checkMounts(values('--mount'));
  const [name = ''] = values('--name');
  if (name !== '' && all().some((one) => one.name === name)) end(125, 'docker: Conflict');
  const id = randomBytes(32).toString('hex');
  const pairs = values('--env').map((pair) => pair.split(/=(.*)/s).slice(0, 2));
  // In a session of its own, so that it outlives this client as a container does.
  const child = spawn(held.java, command, {
    cwd: values('--workdir')[0],
    env: Object.fromEntries(pairs),
    stdio: ['ignore', 'inherit', 'inherit'],
    detached: true,
  });
  const record = { id, name, label: values('--label')[0], pid: child.pid };
  writeFileSync(join(containers, id), JSON.stringify(record));
  for (const file of values('--cidfile')) writeFileSync(file, id, { flag: 'wx' });
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  child.once('exit', (code, signal) => {
    rmSync(join(containers, id), { force: true });
    process.exit(code ?? (signal === 'SIGKILL' ? 137 : 143));
  });
}

async function pull() {
  const image = args[1];
  const { pull: how } = engine;
  if (how === 'hang') await sleep(60_000);
  if (how !== 'ok') end(1, 'Error response from daemon: manifest unknown');
  for (const layer of ['a', 'b']) process.stdout.write(`${layer}: Pulling fs layer\n`);
  for (const layer of ['a', 'b']) process.stdout.write(`${layer}: Pull complete\n`);
  engine.images[image] = engine.pulled;
  writeFileSync(join(dir, 'engine.json'), JSON.stringify(engine));
}

async function container() {
  const [, verb] = args;
  const id = args.at(-1);
  if (verb === 'ls') {
    const label = args.find((arg) => arg.startsWith('label=')).slice('label='.length);
    const ids = all().filter((one) => one.label === label);
    return end(0, ids.map((one) => one.id).join('\n'));
  }
  const { pid } = find(id);
  if (verb === 'inspect') return end(0, 'true');
  if (verb === 'kill') return process.kill(pid, `SIG${args[3]}`);
  if (verb === 'wait') {
    while (runs(pid)) await sleep(20);
    return end(0, '143');
  }
  if (verb === 'rm') return process.kill(pid, 'SIGKILL');
  return end(64, `the fake docker does not know container ${verb}`);
}

if (engine.down) end(1, 'Cannot connect to the Docker daemon. Is the docker daemon running?');
if (args[0] === 'info') end(0, JSON.stringify(engine.info));
else if (args[0] === 'image') {
  const held = engine.images[args.at(-1)];
  if (held === undefined) end(1, `Error: No such image: ${args.at(-1)}`);
  end(0, held.id);
} else if (args[0] === 'pull') await pull();
else if (args[0] === 'run') run();
else if (args[0] === 'container') await container();
else end(64, `the fake docker does not know ${args[0]}`);
