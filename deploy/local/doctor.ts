/**
 * Looks at everything that the local stack needs and says for each thing what is wrong and what to
 * do. Changes nothing, downloads nothing; slow parts (hashes of the cache) run beside the others.
 */
import type { StatsFs } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { LongreinError, toError } from '../../services/chassis/errors.ts';
import { readPins } from './artifact-pins.ts';
import { artifactDirs, missingTargets, unpackedFiles } from './artifacts.ts';
import { runCommand } from './command.ts';
import { centralRepository, type LocalSettings, readSettings } from './config.ts';
import { sharedNetworkAdvice } from './container.ts';
import { askEngine, imageId } from './engine.ts';
import { isMissing, sha256OfFile } from './files.ts';
import { findInstalledJava } from './java.ts';
import { javaReleaseMin } from './java-runtime.ts';
import { findPip } from './java-wheel.ts';
import { findLeftovers } from './leftovers.ts';
import { type ServiceStatus, type StackOptions, type StackStatus, status } from './stack.ts';

export interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
  /** What to do, if it is not ok. */
  readonly fix?: string;
}

const freeBytesMin = 2_000_000_000;

/** Runs all checks; one that fails itself is a check that is not ok. Ends within 10 s. */
export async function doctor(options: StackOptions = {}): Promise<Check[]> {
  const settings = options.settings ?? readSettings();
  const checks = await Promise.all([
    guarded('node', () => Promise.resolve([checkNode(process.versions.node)])),
    guarded('java', () => checkJava(settings)),
    guarded('docker', () => checkDocker(settings)),
    guarded('downloads', () => checkSources(settings)),
    guarded('disk', () => checkDisk(settings)),
    guarded('cache', () => checkCache(settings)),
    guarded('stack', async () => checkStack(await status({ ...options, settings }))),
    guarded('leftovers', () => checkLeftovers(settings)),
  ]);
  return checks.flat();
}

async function guarded(name: string, check: () => Promise<Check[]>): Promise<Check[]> {
  try {
    return await check();
  } catch (thrown) {
    const fix = thrown instanceof LongreinError ? thrown.fix : undefined;
    return [
      bad(name, toError(thrown).message, fix ?? 'Read the message; it is not expected here.'),
    ];
  }
}

/** Whether this version of Node runs Longrein: 20.19 or newer. */
export function checkNode(version: string): Check {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return good('node', version);
  return bad('node', `${version} is too old`, 'Install Node.js 20.19 or newer.');
}

async function checkJava(settings: LocalSettings): Promise<Check[]> {
  const found = await findInstalledJava(settings);
  if ('command' in found) {
    return [good('java', `${found.version} from ${found.source} (${found.command})`)];
  }
  const pip = settings.javaChoice === 'docker' ? undefined : await findPip(settings);
  if (pip)
    return [good('java', `${found.join('; ')}; \`up\` will fetch one by pip ${pip.version}`)];
  if (typeof (await askEngine(settings)) !== 'string') {
    const text = `${found.join('; ')}; \`up\` will run the one of ${settings.javaImage} in Docker`;
    return [good('java', text)];
  }
  const fix = `Install Java ${javaReleaseMin} or newer, or Python 3 with pip, or start Docker.`;
  return [bad('java', found.join('; '), fix)];
}

/** Docker is wanted only where there is no other Java, which is what the check of Java is for. */
async function checkDocker(settings: LocalSettings): Promise<Check[]> {
  const engine = await askEngine(settings);
  if (typeof engine === 'string') return [good('docker', `cannot be used: ${engine}`)];
  const there = (await imageId(settings, settings.javaImage)) !== undefined;
  const detail = `${engine.version} on ${engine.system}; ${settings.javaImage}`;
  return [good('docker', `${detail} ${there ? 'is there' : 'would be pulled'}`)];
}

async function checkSources(settings: LocalSettings): Promise<Check[]> {
  if (settings.mavenRepository !== undefined) {
    return [good('downloads', `from ${settings.mavenRepository} (LONGREIN_MAVEN_REPOSITORY)`)];
  }
  const options = { env: settings.environment, silenceMs: 8_000 };
  const maven = await runCommand('mvn', ['-v'], options);
  const version = /Apache Maven ([\d.]+)/.exec(maven.output)?.[1];
  if (maven.code === 0 && version) return [good('downloads', `by Maven ${version}`)];
  return [good('downloads', `straight from ${centralRepository}: there is no Maven here`)];
}

async function checkDisk(settings: LocalSettings): Promise<Check[]> {
  const dirs = [...new Set([settings.cacheDir, settings.stateDir])];
  return await Promise.all(dirs.map(checkSpace));
}

async function checkSpace(dir: string): Promise<Check> {
  const { bavail, bsize } = await statfsOfNearest(dir);
  const freeBytes = bavail * bsize;
  const detail = `${(freeBytes / 1e9).toFixed(1)} GB free for ${dir}`;
  if (freeBytes >= freeBytesMin) return good('disk', detail);
  return bad('disk', detail, `Free some space: ${freeBytesMin / 1e9} GB are wanted there.`);
}

async function statfsOfNearest(dir: string): Promise<StatsFs> {
  try {
    return await statfs(dir);
  } catch (error) {
    if (isMissing(error) && dirname(dir) !== dir) return await statfsOfNearest(dirname(dir));
    throw error;
  }
}

async function checkCache(settings: LocalSettings): Promise<Check[]> {
  const { cacheDir } = settings;
  const pins = readPins();
  const missing = await missingTargets(cacheDir, pins);
  if (missing.length > 0) {
    return [
      good('cache', `${missing.length} files are not in ${cacheDir} yet; \`up\` fetches them`),
    ];
  }
  const dirs = artifactDirs(cacheDir, pins);
  const jars = pins.kafka.files.map((pin) => ({ path: join(dirs.kafka, pin.file), ...pin }));
  const unpacked = (await unpackedFiles(dirs.registry)) ?? [];
  const all = [
    ...jars,
    ...unpacked.map((file) => ({ ...file, path: join(dirs.registry, file.path) })),
  ];
  const wrong: Check[] = [];
  for (const { path, sha256 } of all) {
    const actual = await sha256OfFile(path);
    if (actual !== sha256) wrong.push(damaged(path, sha256, actual));
  }
  return wrong.length > 0
    ? wrong
    : [good('cache', `${all.length} files in ${cacheDir}, hashes right`)];
}

function damaged(path: string, expected: string, actual: string): Check {
  const detail = `${path} is damaged: expected SHA-256 ${expected}, got ${actual}`;
  return bad('cache', detail, `Delete ${dirname(path)}; the next \`up\` fetches it again.`);
}

/** Checks of addresses and processes out of what `status` saw. */
export function checkStack(seen: StackStatus): Check[] {
  const checks = [
    checkService('broker', seen.brokers, seen),
    checkService('registry', seen.registry, seen),
    checkService('clickhouse', seen.clickhouse, seen),
  ].filter((check) => check !== undefined);
  if (!seen.up) checks.unshift(good('stack', `not up (${seen.stateDir} has no stack.json)`));
  for (const { name, pid, alive, port, logFile, container } of seen.processes) {
    const where = container === undefined ? '' : `, container ${container.name}`;
    const what = `pid ${pid}${where}${port === null ? '' : `, port ${port}`}`;
    checks.push(
      alive
        ? good(`process ${name}`, what)
        : bad(`process ${name}`, `${what} has ended`, `Run \`longrein up\`; why: ${logFile}.`),
    );
  }
  return checks;
}

function checkService(
  name: string,
  service: ServiceStatus | undefined,
  seen: StackStatus,
): Check | undefined {
  if (service === undefined) return undefined;
  if (service.ok) return good(name, `${service.address} answers`);
  const variable = { broker: 'BROKERS', registry: 'REGISTRY_URL', clickhouse: 'CLICKHOUSE_URL' }[
    name
  ];
  const contained = seen.processes.some((one) => one.name === name && one.container && one.alive);
  const fix = contained
    ? `Its container runs. If its log says that it has started, ${sharedNetworkAdvice}.`
    : `Run \`longrein up\`, or correct LONGREIN_${variable} if you set it.`;
  return bad(name, `not reachable: ${service.reason}`, fix);
}

async function checkLeftovers(settings: LocalSettings): Promise<Check[]> {
  const leftovers = await findLeftovers(settings.stateDir);
  if (leftovers.length === 0) return [good('leftovers', 'none')];
  return leftovers.map(({ pid, command }) =>
    bad(
      'leftovers',
      `pid ${pid} runs in ${settings.stateDir} unrecorded: ${command}`,
      `kill ${pid}`,
    ),
  );
}

function good(name: string, detail: string): Check {
  return { name, ok: true, detail };
}

function bad(name: string, detail: string, fix: string): Check {
  return { name, ok: false, detail, fix };
}
