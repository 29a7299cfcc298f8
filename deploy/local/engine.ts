/**
 * The Docker engine of this machine, asked through the `docker` client: whether it answers, which
 * images it has, and one that it is to pull. Containers are container.ts.
 */
import { LongreinError } from '../../services/chassis/errors.ts';
import { type CommandResult, runCommand } from './command.ts';
import type { LocalSettings } from './config.ts';
import type { Report } from './report.ts';

export interface Engine {
  readonly version: string;
  /** The system that the engine runs on, as it calls it: `Docker Desktop`, `Debian GNU/Linux 12`. */
  readonly system: string;
  /** What `docker info` lists under security: `name=selinux`, `name=userns`, … */
  readonly securityOptions: readonly string[];
}

const answerMs = 8_000;
export const pullLimitMs = 60_000;

/** The engine, or one sentence that says why there is none to work with. */
export async function askEngine(settings: LocalSettings): Promise<Engine | string> {
  // Paths of Windows do not exist inside a Linux container under the same name.
  if (process.platform === 'win32') return 'Docker: not used on Windows; run Longrein inside WSL';
  const result = await docker(settings, ['info', '--format', '{{json .}}']);
  if (!result.found) return 'Docker: there is no docker on the PATH';
  const engine = parseEngine(result.output);
  if (engine === undefined) return `Docker: the engine does not answer: ${reasonOf(result)}`;
  if (engine.securityOptions.some((option) => option.startsWith('name=rootless'))) {
    return 'Docker: a rootless engine cannot share the network of this machine with a container';
  }
  return engine;
}

/** Reads what `docker info` prints as JSON; undefined if no engine is behind it. */
export function parseEngine(output: string): Engine | undefined {
  // Warnings of the client may stand before and behind it.
  const line = output.split('\n').find((text) => text.startsWith('{'));
  const value = line === undefined ? undefined : parsed(line);
  if (typeof value !== 'object' || value === null) return undefined;
  const { ServerVersion, OperatingSystem, SecurityOptions } = value as Record<string, unknown>;
  if (typeof ServerVersion !== 'string' || ServerVersion === '') return undefined;
  const options: unknown[] = Array.isArray(SecurityOptions) ? SecurityOptions : [];
  return {
    version: ServerVersion,
    system: typeof OperatingSystem === 'string' ? OperatingSystem : 'an unknown system',
    securityOptions: options.filter((option) => typeof option === 'string'),
  };
}

/** The id of an image that the engine has, or undefined. */
export async function imageId(settings: LocalSettings, image: string): Promise<string | undefined> {
  const result = await docker(settings, ['image', 'inspect', '--format', '{{.Id}}', image]);
  return result.code === 0 ? lastLine(result) : undefined;
}

/** Pulls an image and tells how far it is. Throws JAVA_IMAGE if that fails or takes too long. */
export async function pullImage(
  settings: LocalSettings,
  report: Report,
  limitMs = pullLimitMs,
): Promise<void> {
  const image = settings.javaImage;
  const note = (text: string): void => report({ kind: 'note', text });
  note(`docker pulls ${image}, for at most ${limitMs / 1_000} s`);
  const result = await runCommand('docker', ['pull', image], {
    env: settings.environment,
    silenceMs: limitMs,
    limitMs,
    onOutput: layerTeller(note),
  });
  if (result.code === 0) return;
  // Without a code it was ended here.
  const late = result.found && result.code === undefined;
  const reason = late ? `it is not there after ${limitMs / 1_000} s` : lastLine(result);
  throw new LongreinError('JAVA_IMAGE', `Docker: ${image} cannot be pulled: ${reason}`, {
    fix:
      `Pull it by hand (docker pull ${image}) and try again, or set LONGREIN_JAVA_IMAGE to an ` +
      'image with Java 17 or newer that is there.',
    retryable: true,
  });
}

/** Hears the client's lines, which come in pieces, and tells each layer that is complete. */
export function layerTeller(note: (text: string) => void): (piece: string) => void {
  let text = '';
  let told = 0;
  return (piece) => {
    text += piece;
    const all = text.match(/: (?:Pulling fs layer|Already exists)$/gm)?.length ?? 0;
    const done = text.match(/: (?:Pull complete|Already exists)$/gm)?.length ?? 0;
    if (done > told) note(`docker pull: ${done} of ${all} layers`);
    told = done;
  };
}

function docker(settings: LocalSettings, args: readonly string[]): Promise<CommandResult> {
  return runCommand('docker', args, { env: settings.environment, silenceMs: answerMs });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Whatever it is, no engine speaks like that; the caller tells the text.
    return undefined;
  }
}

function reasonOf(result: CommandResult): string {
  return result.code === undefined ? `nothing in ${answerMs / 1_000} s` : lastLine(result);
}

function lastLine(result: CommandResult): string {
  return result.output.trim().split('\n').at(-1)?.trim() || 'no output';
}
