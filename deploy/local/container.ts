/**
 * Containers that the stack runs a JVM in: how the `docker` client is told to run one, how one is
 * recognised later, and how it is stopped. A container is told by its id, never by its name, and may
 * outlive the client that started it.
 */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { LongreinError } from '../../services/chassis/errors.ts';
import { type CommandResult, runCommand } from './command.ts';
import type { Environment } from './config.ts';
import type { Engine } from './engine.ts';

export interface ContainerRecord {
  readonly id: string;
  readonly name: string;
  /** Environment of the client that started it: whoever stops it must ask the same engine. */
  readonly environment: Readonly<Record<string, string>>;
}

export interface ContainerRun {
  readonly image: string;
  readonly engine: Engine;
  /** Marks all containers of one service of one stack; the name of the one that stays. */
  readonly label: string;
  /** Set for one that stays: it gets the name, and its id is written to this file. */
  readonly idFile?: string;
  readonly network: 'host' | 'none';
  /** Directories of this machine, found inside under the same path. */
  readonly readable: readonly string[];
  readonly writable: readonly string[];
  readonly workingDir: string;
  readonly env: Readonly<Record<string, string>>;
  /** User and group that files are written as; those of this process if not given. */
  readonly user?: string;
  readonly args: readonly string[];
}

/** Why a container that runs may not be reached, and what helps. */
export const sharedNetworkAdvice =
  'its engine does not share the network of this machine: in Docker Desktop turn on "Enable host ' +
  'networking" (Settings, Resources, Network; version 4.34 or newer)';

const labelKey = 'longrein.service';

/** Name and label of the container of a service, another one for each state directory. */
export function containerLabel(stateDir: string, service: string): string {
  const stack = createHash('sha256').update(stateDir).digest('hex').slice(0, 12);
  return `longrein-${stack}-${service}`;
}

/** The argument by which a process of a container is known in the list of processes. */
export function containerMark(label: string): string {
  return `-Dlongrein.container=${label}`;
}

/** What the client is told, from `run` on. */
export function runArguments(run: ContainerRun): string[] {
  const own = run.idFile === undefined ? [] : ['--name', run.label, '--cidfile', run.idFile];
  const user = run.user ?? currentUser();
  return [
    ...['run', '--rm', '--init', '--pull', 'never', '--entrypoint', 'java'],
    ...[...own, '--label', `${labelKey}=${run.label}`],
    ...['--network', run.network, '--log-driver', 'none', '--stop-signal', 'SIGTERM'],
    ...(user === undefined ? [] : ['--user', user]),
    ...['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'],
    ...engineArguments(run.engine),
    // Compression codecs unpack their native libraries there and load them.
    ...['--tmpfs', '/tmp:rw,exec,nosuid,nodev,size=128m'],
    ...run.readable.flatMap((dir) => ['--mount', bind(dir, true)]),
    ...run.writable.flatMap((dir) => ['--mount', bind(dir, false)]),
    ...['--workdir', run.workingDir],
    ...Object.entries({ HOME: '/tmp', ...run.env }).flatMap(([name, value]) => [
      '--env',
      `${name}=${value}`,
    ]),
    run.image,
    ...run.args,
  ];
}

function engineArguments({ securityOptions }: Engine): string[] {
  const has = (name: string): boolean =>
    securityOptions.some((option) => option.split(',')[0] === `name=${name}`);
  return [
    // Both keep a container from the files that belong to the user of this process.
    ...(has('userns') ? ['--userns', 'host'] : []),
    ...(has('selinux') ? ['--security-opt', 'label=disable'] : []),
  ];
}

/** A `--volume` would create a directory that is not there, on whatever machine the engine is. */
function bind(dir: string, readonly: boolean): string {
  const quoted = dir.replaceAll('"', '""');
  return `type=bind,"source=${quoted}","target=${quoted}"${readonly ? ',readonly' : ''}`;
}

function currentUser(): string | undefined {
  const [user, group] = [process.getuid?.(), process.getgid?.()];
  return user === undefined || group === undefined ? undefined : `${user}:${group}`;
}

export type ContainerState = 'running' | 'halted' | 'gone';

/**
 * Looks at one container. Throws ENGINE_SILENT if the engine does not answer: then nobody knows.
 */
export async function containerState(record: ContainerRecord): Promise<ContainerState> {
  const args = ['container', 'inspect', '--format', '{{.State.Running}}', record.id];
  const result = await docker(record, args);
  if (result.code === 0) return result.output.trim() === 'true' ? 'running' : 'halted';
  if (/no such container/i.test(result.output)) return 'gone';
  const reason = result.output.trim().split('\n').at(-1) || 'no answer';
  throw new LongreinError(
    'ENGINE_SILENT',
    `whether container ${record.name} (${record.id.slice(0, 12)}) runs is not known: ${reason}`,
    { fix: 'Start Docker, then run the command again.', retryable: true },
  );
}

/**
 * Asks the JVM to end (SIGTERM), kills it once the deadline is over, and removes the container.
 * Throws ENGINE_SILENT, or PROCESS_STOP if the container stays.
 */
export async function stopContainer(
  record: ContainerRecord,
  deadlineMs: number,
): Promise<'stopped' | 'killed' | 'gone'> {
  const before = await containerState(record);
  if (before === 'gone') return 'gone';
  const outcome = before === 'halted' ? 'gone' : await endWithin(record, deadlineMs);
  // One that ended removes itself, one that never started does not; both at once do no harm.
  await docker(record, ['container', 'rm', '--force', record.id]);
  for (let look = 0; look < 50; look += 1) {
    if ((await containerState(record)) === 'gone') return outcome;
    await sleep(50);
  }
  throw new LongreinError('PROCESS_STOP', `container ${record.name} did not end`, {
    fix: `See why: docker container rm --force ${record.id}`,
  });
}

async function endWithin(
  record: ContainerRecord,
  deadlineMs: number,
): Promise<'stopped' | 'killed'> {
  await docker(record, ['container', 'kill', '--signal', 'TERM', record.id]);
  const limit = { silenceMs: deadlineMs, limitMs: deadlineMs };
  const wait = await runCommand('docker', ['container', 'wait', record.id], {
    env: record.environment,
    ...limit,
  });
  return wait.code === undefined ? 'killed' : 'stopped';
}

/** Containers of a label, running or not: those that nobody recorded among them. */
export async function containersOf(label: string, environment: Environment): Promise<string[]> {
  const args = ['container', 'ls', '--all', '--quiet', '--no-trunc'];
  const filter = ['--filter', `label=${labelKey}=${label}`];
  const result = await docker({ environment }, [...args, ...filter]);
  return result.output.split('\n').filter((line) => /^[0-9a-f]{64}$/.test(line.trim()));
}

function docker(
  { environment }: { readonly environment: Environment },
  args: readonly string[],
): Promise<CommandResult> {
  return runCommand('docker', args, { env: environment, silenceMs: 15_000 });
}
