/**
 * The jars of the broker and the registry in the cache: installed once, checked by SHA-256 before
 * they get their name, shared by all clones. A warm look compares sizes only (a few ms); doctor
 * compares hashes.
 */
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { LongreinError, toError } from '../../services/chassis/errors.ts';
import { type ArtifactPins, readPins } from './artifact-pins.ts';
import { hasSize } from './checked-file.ts';
import { runCommand } from './command.ts';
import { centralRepository, type LocalSettings } from './config.ts';
import { partName, readJsonIfThere, sha256OfFile, writeJsonAtomic } from './files.ts';
import { type FetchTarget, fetchOverHttps } from './https-fetch.ts';
import { withLock } from './lock.ts';
import { fetchByMaven } from './maven-fetch.ts';
import type { Progress, Report } from './report.ts';

export interface InstalledArtifacts {
  readonly kafkaJars: readonly string[];
  readonly registryJar: string;
}

/** Size and hash of a file below the unpacked registry, recorded when it was unpacked. */
export interface UnpackedFile {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** Where the parts lie in a cache. */
export function artifactDirs(
  cacheDir: string,
  pins: ArtifactPins,
): { kafka: string; registry: string } {
  return {
    kafka: join(cacheDir, `kafka-${pins.kafka.version}`),
    registry: join(cacheDir, `apicurio-registry-${pins.registry.version}`),
  };
}

/**
 * Makes sure that broker and registry are in the cache and tells where. Fetches what is missing:
 * straight from the repository that LONGREIN_MAVEN_REPOSITORY names, else by Maven with the user's
 * settings, else, where there is no Maven, straight from the central repository. Throws ARTIFACT_SOURCE, ARTIFACT_DOWNLOAD, ARTIFACT_CHECKSUM or ARTIFACT_UNPACK;
 * nothing half installed stays behind.
 */
export async function ensureArtifacts(
  settings: LocalSettings,
  report: Report,
): Promise<InstalledArtifacts> {
  const pins = readPins();
  if (!(await isInstalled(settings.cacheDir, pins))) {
    const path = join(settings.cacheDir, 'lock');
    await withLock({ path, purpose: 'download', report }, () => install(settings, pins, report));
  }
  const dirs = artifactDirs(settings.cacheDir, pins);
  return {
    kafkaJars: pins.kafka.files.map((pin) => join(dirs.kafka, pin.file)),
    registryJar: join(dirs.registry, `apicurio-registry-app-${pins.registry.version}-runner.jar`),
  };
}

/** The files that the cache lacks, by size. */
export async function missingTargets(cacheDir: string, pins: ArtifactPins): Promise<FetchTarget[]> {
  const dirs = artifactDirs(cacheDir, pins);
  const missing: FetchTarget[] = [];
  for (const pin of pins.kafka.files) {
    if (!(await hasSize(join(dirs.kafka, pin.file), pin.bytes)))
      missing.push({ pin, dir: dirs.kafka });
  }
  if (!(await isUnpacked(dirs.registry))) {
    for (const pin of pins.registry.files) missing.push({ pin, dir: cacheDir });
  }
  return missing;
}

/** The list of files that unpacking recorded, or undefined if nothing is unpacked there. */
export async function unpackedFiles(dir: string): Promise<UnpackedFile[] | undefined> {
  const value = await readJsonIfThere(join(dir, 'unpacked.json'));
  return Array.isArray(value) ? (value as UnpackedFile[]) : undefined;
}

async function isInstalled(cacheDir: string, pins: ArtifactPins): Promise<boolean> {
  return (await missingTargets(cacheDir, pins)).length === 0;
}

async function isUnpacked(dir: string): Promise<boolean> {
  const files = await unpackedFiles(dir);
  if (files === undefined) return false;
  const present = await Promise.all(files.map((file) => hasSize(join(dir, file.path), file.bytes)));
  return present.every(Boolean);
}

async function install(settings: LocalSettings, pins: ArtifactPins, report: Report): Promise<void> {
  // Another process may have installed all of it while this one waited for the lock.
  const missing = await missingTargets(settings.cacheDir, pins);
  const dirs = artifactDirs(settings.cacheDir, pins);
  await mkdir(dirs.kafka, { recursive: true });
  for (const dir of [settings.cacheDir, dirs.kafka]) await sweep(dir);
  const archives = await withoutThoseThere(missing);
  await fetchAll(settings, archives, report);
  for (const { pin, dir } of missing) {
    if (pin.extension === 'tar.gz') {
      report({ kind: 'note', text: `unpacking ${pin.file}` });
      await unpack(join(dir, pin.file), dirs.registry, settings);
    }
  }
}

/**
 * Removes pieces that an interrupted download left. Only the holder of the lock makes such pieces.
 */
async function sweep(dir: string): Promise<void> {
  for (const name of await readdir(dir)) {
    const piece = name.startsWith('maven-') || (name.endsWith('.part') && !name.startsWith('lock'));
    if (piece) await rm(join(dir, name), { recursive: true, force: true });
  }
}

async function withoutThoseThere(targets: readonly FetchTarget[]): Promise<FetchTarget[]> {
  const there = await Promise.all(
    targets.map(({ pin, dir }) => hasSize(join(dir, pin.file), pin.bytes)),
  );
  return targets.filter((_target, index) => !there[index]);
}

async function fetchAll(
  settings: LocalSettings,
  targets: readonly FetchTarget[],
  report: Report,
): Promise<void> {
  if (targets.length === 0) return;
  const progress = (value: Progress): void => report({ kind: 'progress', ...value });
  const { cacheDir, environment, mavenRepository: repository } = settings;
  if (repository !== undefined) return fetchOverHttps({ repository, targets, progress });
  const { reason } = await fetchByMaven({ targets, cacheDir, environment, progress });
  if (reason === undefined) return;
  report({ kind: 'note', text: `${reason} Fetching straight from ${centralRepository} instead.` });
  try {
    const missing = await withoutThoseThere(targets);
    await fetchOverHttps({ repository: centralRepository, targets: missing, progress });
  } catch (thrown) {
    throw noSourceError(`${reason} ${toError(thrown).message}`);
  }
}

async function unpack(archive: string, dir: string, settings: LocalSettings): Promise<void> {
  const part = partName(dir);
  await mkdir(part, { recursive: true });
  try {
    const args = ['-xzf', archive, '-C', part];
    const result = await runCommand('tar', args, { env: settings.environment, silenceMs: 120_000 });
    if (result.code !== 0) throw unpackError(archive, result.output);
    await writeJsonAtomic(join(part, 'unpacked.json'), await listFiles(part));
    await rm(dir, { recursive: true, force: true });
    await rename(part, dir);
    await rm(archive, { force: true });
  } finally {
    await rm(part, { recursive: true, force: true });
  }
}

async function listFiles(dir: string): Promise<UnpackedFile[]> {
  const names = await readdir(dir, { recursive: true, withFileTypes: true });
  const files: UnpackedFile[] = [];
  for (const entry of names) {
    if (!entry.isFile()) continue;
    const full = join(entry.parentPath, entry.name);
    const path = full.slice(dir.length + 1);
    files.push({ path, bytes: await sizeOf(full), sha256: await sha256OfFile(full) });
  }
  return files.sort((a, b) => (a.path < b.path ? -1 : 1));
}

async function sizeOf(path: string): Promise<number> {
  return (await stat(path)).size;
}

function unpackError(archive: string, output: string): LongreinError {
  return new LongreinError(
    'ARTIFACT_UNPACK',
    `${archive} could not be unpacked: ${output.trim()}`,
    {
      fix: 'Check that `tar` is installed and that the disk has 400 MB free, then try again.',
    },
  );
}

function noSourceError(reason: string): LongreinError {
  return new LongreinError('ARTIFACT_SOURCE', `the broker cannot be fetched. ${reason}`, {
    fix:
      'Install Maven 3 (for example `apt-get install maven` or `brew install maven`), or set ' +
      'LONGREIN_MAVEN_REPOSITORY to the base URL of a Maven repository (Maven Central or a ' +
      'mirror of it), or set LONGREIN_BROKERS and LONGREIN_REGISTRY_URL to a Kafka and a schema ' +
      'registry that you run.',
    retryable: true,
  });
}
