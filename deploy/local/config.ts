/**
 * Where the local stack keeps things and what it was given: the only reader of the environment
 * here. Everything else takes these settings, so a test can run a stack of its own beside a real
 * one.
 */
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LongreinError } from '../../services/chassis/errors.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Where the coordinates of artifacts.json are published. Asked only where neither Maven nor a variable says where. */
export const centralRepository = 'https://repo.maven.apache.org/maven2';

export interface LocalSettings {
  /** Data, logs and stack.json of one stack. */
  readonly stateDir: string;
  /** Downloads, shared by all clones of one user. */
  readonly cacheDir: string;
  /** Brokers to use instead of an own one. */
  readonly brokers: readonly string[] | undefined;
  /** Schema registry to use instead of an own one, with its path. */
  readonly registryUrl: string | undefined;
  /** ClickHouse to use instead of the embedded engine. */
  readonly clickhouseUrl: string | undefined;
  readonly longreinJavaHome: string | undefined;
  readonly javaHome: string | undefined;
  /** `docker` takes Java from `javaImage` even where there is another one. */
  readonly javaChoice: 'auto' | 'docker';
  /** The image whose Java runs in a container. */
  readonly javaImage: string;
  /** Maven repository to download from directly, without Maven. */
  readonly mavenRepository: string | undefined;
  readonly environment: Environment;
}

/**
 * Java 21 for x86-64 and ARM: the index of Docker's official image of Eclipse Temurin. An engine
 * goes by the digest alone; the tag tells people what it is.
 */
export const defaultJavaImage =
  'eclipse-temurin:21.0.12_8-jre-noble@sha256:' +
  '7739f0ffce786528961eea6bf46d9610ee968ac6127c9b2e93494757bdecce9f';

/** What a JVM of the stack needs from the environment; keys and tokens of the user stay out. */
const jvmVariables = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TMPDIR', 'TZ'];

/** Paths and directories of this machine mean nothing inside a container. */
const containerVariables = ['LANG', 'LC_ALL', 'TZ'];

/** What leads the docker client to its engine. */
const engineVariables = [
  'PATH',
  'HOME',
  'XDG_RUNTIME_DIR',
  'DOCKER_HOST',
  'DOCKER_CONTEXT',
  'DOCKER_CONFIG',
  'DOCKER_CERT_PATH',
  'DOCKER_TLS_VERIFY',
];

/** Reads the settings of the local stack. Empty variables count as not set. */
export function readSettings(
  environment: Environment = process.env,
  workingDir: string = process.cwd(),
): LocalSettings {
  const value = (name: string): string | undefined => environment[name]?.trim() || undefined;
  const brokers = value('LONGREIN_BROKERS')
    ?.split(',')
    .map((broker) => broker.trim())
    .filter((broker) => broker !== '');
  return {
    stateDir: resolve(
      workingDir,
      value('LONGREIN_STATE_DIR') ?? join(packageDirOf(workingDir), '.longrein'),
    ),
    cacheDir: resolve(workingDir, value('LONGREIN_CACHE_DIR') ?? defaultCacheDir(value)),
    brokers: brokers && brokers.length > 0 ? brokers : undefined,
    registryUrl: value('LONGREIN_REGISTRY_URL')?.replace(/\/+$/, ''),
    clickhouseUrl: value('LONGREIN_CLICKHOUSE_URL')?.replace(/\/+$/, ''),
    longreinJavaHome: value('LONGREIN_JAVA_HOME'),
    javaHome: value('JAVA_HOME'),
    javaChoice: javaChoice(value('LONGREIN_JAVA')),
    javaImage: value('LONGREIN_JAVA_IMAGE') ?? defaultJavaImage,
    mavenRepository: value('LONGREIN_MAVEN_REPOSITORY')?.replace(/\/+$/, ''),
    environment,
  };
}

/** The part of the environment that the broker and the registry are started with. */
export function jvmEnvironment(environment: Environment): Record<string, string> {
  return only(jvmVariables, environment);
}

/** The same for a JVM inside a container. */
export function containerEnvironment(environment: Environment): Record<string, string> {
  return only(containerVariables, environment);
}

/** The environment that makes a docker client speak to the engine that this one speaks to. */
export function engineEnvironment(environment: Environment): Record<string, string> {
  return only(engineVariables, environment);
}

function only(names: readonly string[], environment: Environment): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of names) {
    const value = environment[name];
    if (value !== undefined) kept[name] = value;
  }
  return kept;
}

/** The directory of this package, the same from the sources and from dist. */
export function packageRoot(): string {
  for (const dir of selfAndParents(dirname(fileURLToPath(import.meta.url)))) {
    if (packageName(dir) === 'longrein') return dir;
  }
  throw new LongreinError(
    'PACKAGE_ROOT',
    `no package.json named "longrein" above ${import.meta.url}`,
    {
      fix: 'Install the package again: its package.json is missing.',
    },
  );
}

function javaChoice(value: string | undefined): 'auto' | 'docker' {
  if (value === undefined || value === 'auto') return 'auto';
  if (value === 'docker') return value;
  throw new LongreinError('JAVA_UNUSABLE', `LONGREIN_JAVA=${value} is not a way to find Java`, {
    fix: 'Set LONGREIN_JAVA to `docker` or `auto`, or unset it.',
  });
}

function defaultCacheDir(value: (name: string) => string | undefined): string {
  const base = value('XDG_CACHE_HOME') ?? join(value('HOME') ?? homedir(), '.cache');
  return join(base, 'longrein');
}

function packageDirOf(workingDir: string): string {
  for (const dir of selfAndParents(workingDir)) {
    if (existsSync(join(dir, 'package.json'))) return dir;
  }
  return workingDir;
}

function selfAndParents(dir: string): string[] {
  const parent = dirname(dir);
  return parent === dir ? [dir] : [dir, ...selfAndParents(parent)];
}

function packageName(dir: string): string | undefined {
  const path = join(dir, 'package.json');
  if (!existsSync(path)) return undefined;
  const parsed: unknown = JSON.parse(readFileSync(path, 'utf8'));
  if (typeof parsed !== 'object' || parsed === null || !('name' in parsed)) return undefined;
  return typeof parsed.name === 'string' ? parsed.name : undefined;
}
