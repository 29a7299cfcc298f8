/**
 * Starts a JVM of the stack, as a process of this machine or in a container: the same arguments, the
 * same paths, the same log file. What runs in a container is recorded with it.
 */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { LongreinError } from '../../services/chassis/errors.ts';
import { type CommandResult, runCommand } from './command.ts';
import {
  containerEnvironment,
  engineEnvironment,
  jvmEnvironment,
  type LocalSettings,
} from './config.ts';
import {
  containerLabel,
  containerMark,
  containersOf,
  runArguments,
  stopContainer,
} from './container.ts';
import { containerIdFile } from './container-files.ts';
import { lastLines, readTextIfThere } from './files.ts';
import type { JavaImage, JavaRuntime } from './java-runtime.ts';
import { isAlive, type ProcessRecord, startDetached, stopProcess } from './processes.ts';

export interface JvmCall {
  readonly settings: LocalSettings;
  readonly java: JavaRuntime;
  /** The service that it is for; its container is named after it. */
  readonly name: string;
  /** Working directory, and the one that it may write to. */
  readonly dir: string;
  /** Others that it may write to. The cache it may read. */
  readonly writable?: readonly string[];
  readonly args: readonly string[];
  /** Beside what every JVM gets. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface JvmStart extends JvmCall {
  readonly port: number;
  readonly leaves?: { readonly from: string; readonly to: string } | undefined;
}

const stopMs = 20_000;
const idMs = 30_000;
const pollMs = 25;

/** Runs a JVM to its end, without a network if it is in a container. */
export async function runJvm(call: JvmCall, silenceMs: number): Promise<CommandResult> {
  const { java, settings, dir } = call;
  if (java.image === undefined) {
    const env = { ...jvmEnvironment(settings.environment), ...call.env };
    return await runCommand(java.command, call.args, { env, cwd: dir, silenceMs });
  }
  const args = containerArguments(call, java.image, 'none');
  return await runCommand(java.command, args, { env: settings.environment, silenceMs });
}

/**
 * Starts a JVM that stays, with its log in `<stateDir>/logs`. Throws PROCESS_START if it does not
 * start.
 */
export async function startJvm(start: JvmStart): Promise<ProcessRecord> {
  const { java, settings, name } = start;
  if (java.image !== undefined) return await startContained(start, java.image);
  return await startDetached({
    ...common(start),
    name,
    command: java.command,
    args: start.args,
    env: { ...jvmEnvironment(settings.environment), ...start.env },
    cwd: start.dir,
  });
}

async function startContained(start: JvmStart, image: JavaImage): Promise<ProcessRecord> {
  const { settings, name, java } = start;
  const environment = engineEnvironment(settings.environment);
  const label = containerLabel(settings.stateDir, name);
  // One that an earlier command did not live to record holds the data, and the name.
  for (const id of await containersOf(label, environment)) {
    await stopContainer({ id, name: label, environment }, stopMs);
  }
  const idFile = containerIdFile(settings.stateDir, name);
  await mkdir(join(idFile, '..'), { recursive: true });
  // The client refuses to write over it.
  await rm(idFile, { force: true });
  const args = containerArguments(start, image, 'host', idFile);
  const client = await startDetached({
    ...common(start),
    name,
    command: java.command,
    args,
    env: environment,
    cwd: start.dir,
  });
  const id = await idOf(client, idFile);
  return { ...client, container: { id, name: label, environment } };
}

function common({ settings, name, port, leaves }: JvmStart) {
  const logFile = join(settings.stateDir, 'logs', `${name}.log`);
  return { logFile, port, ...(leaves === undefined ? {} : { leaves }) };
}

function containerArguments(
  call: JvmCall,
  image: JavaImage,
  network: 'host' | 'none',
  idFile?: string,
): string[] {
  const { settings, name, dir } = call;
  const label = containerLabel(settings.stateDir, name);
  return runArguments({
    image: image.reference,
    engine: image.engine,
    label,
    network,
    readable: [settings.cacheDir],
    writable: [dir, ...(call.writable ?? [])],
    workingDir: dir,
    env: { ...containerEnvironment(settings.environment), ...call.env },
    // Seen from this machine, the process says whose it is (leftovers.ts).
    args: [containerMark(label), ...call.args],
    ...(idFile === undefined ? {} : { idFile }),
  });
}

/** The client writes the id once the container is made, before it starts. */
async function idOf(client: ProcessRecord, idFile: string): Promise<string> {
  for (let polls = idMs / pollMs; polls > 0; polls -= 1) {
    const ended = !(await isAlive(client));
    const id = (await readTextIfThere(idFile))?.trim();
    if (id) return id;
    if (ended) break;
    await sleep(pollMs);
  }
  await stopProcess(client, 1_000);
  const lines = await lastLines(client.logFile, 3);
  throw new LongreinError(
    'PROCESS_START',
    `${client.name}: Docker made no container. ${lines.join(' ')}`,
    { fix: `Read ${client.logFile}; \`docker info\` must answer for this user.` },
  );
}
