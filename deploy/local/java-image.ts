/**
 * The Java of a container image, for machines that have Docker but neither Java nor pip. The image
 * is there, or pulled within a minute; one short run proves that it holds a Java that will do and
 * that the engine sees the files of this machine.
 */
import { mkdir } from 'node:fs/promises';
import { LongreinError } from '../../services/chassis/errors.ts';
import { runCommand } from './command.ts';
import type { LocalSettings } from './config.ts';
import { containerLabel, runArguments } from './container.ts';
import { askEngine, type Engine, imageId, pullImage } from './engine.ts';
import { type JavaRuntime, javaReleaseMin, parseJavaVersion } from './java-runtime.ts';
import type { Report } from './report.ts';

/**
 * The Java of LONGREIN_JAVA_IMAGE, pulled if it is not there. Throws DOCKER (no engine), JAVA_IMAGE
 * (it cannot be pulled) or JAVA_UNUSABLE (no Java in it, or an old one).
 */
export async function ensureImageJava(
  settings: LocalSettings,
  report: Report,
): Promise<JavaRuntime> {
  const engine = await askEngine(settings);
  if (typeof engine === 'string') throw engineError(engine);
  if ((await imageId(settings, settings.javaImage)) === undefined) {
    await pullImage(settings, report);
  }
  return await askImage(settings, engine);
}

/** Looks without pulling: the runtime, or one sentence that says why there is none. */
export async function installedImageJava(settings: LocalSettings): Promise<JavaRuntime | string> {
  const engine = await askEngine(settings);
  if (typeof engine === 'string') return engine;
  if ((await imageId(settings, settings.javaImage)) === undefined) {
    return `Docker: ${settings.javaImage} is not there`;
  }
  return await askImage(settings, engine);
}

async function askImage(settings: LocalSettings, engine: Engine): Promise<JavaRuntime> {
  const { javaImage: image, cacheDir } = settings;
  await mkdir(cacheDir, { recursive: true });
  const args = runArguments({
    image,
    engine,
    label: containerLabel(settings.stateDir, 'java-version'),
    network: 'none',
    readable: [cacheDir],
    writable: [],
    workingDir: cacheDir,
    env: {},
    args: ['-version'],
  });
  const result = await runCommand('docker', args, {
    env: settings.environment,
    silenceMs: 30_000,
  });
  const parsed = result.code === 0 ? parseJavaVersion(result.output) : undefined;
  if (parsed === undefined) throw noJava(image, result.output);
  if (parsed.release < javaReleaseMin) throw tooOld(image, parsed.version);
  const id = (await imageId(settings, image)) ?? image;
  const source = `Docker image ${image}`;
  return { command: 'docker', source, ...parsed, image: { reference: image, id, engine } };
}

function engineError(reason: string): LongreinError {
  return new LongreinError('DOCKER', reason, {
    fix: 'Install and start Docker (`docker info` must answer for this user), then try again.',
    retryable: true,
  });
}

function noJava(image: string, output: string): LongreinError {
  const reason = output.trim().split('\n').slice(-2).join(' ').trim() || 'no output';
  return new LongreinError('JAVA_UNUSABLE', `Docker: no Java can be run in ${image}: ${reason}`, {
    fix:
      `Set LONGREIN_JAVA_IMAGE to an image with Java ${javaReleaseMin} or newer. If it says that ` +
      'a path does not exist, the engine runs elsewhere or may not see that directory: share it.',
  });
}

function tooOld(image: string, version: string): LongreinError {
  const text = `Docker: ${image} has Java ${version}, but the broker needs ${javaReleaseMin} or newer`;
  return new LongreinError('JAVA_UNUSABLE', text, {
    fix: `Set LONGREIN_JAVA_IMAGE to an image with Java ${javaReleaseMin} or newer.`,
  });
}
