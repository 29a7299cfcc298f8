/**
 * `<stateDir>/containers/<service>.id`: the docker client writes the id of a container there before
 * it starts it, so that one is found again even if the command that asked for it was killed before it
 * could record it.
 */
import { readdir, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type Environment, engineEnvironment } from './config.ts';
import { containerLabel, stopContainer } from './container.ts';
import { isMissing, readTextIfThere } from './files.ts';
import type { Report } from './report.ts';

const ending = '.id';

/** Where the id of the container of a service is written. */
export function containerIdFile(stateDir: string, service: string): string {
  return join(containersDir(stateDir), `${service}${ending}`);
}

export interface Sweep {
  readonly stateDir: string;
  readonly environment: Environment;
  /** Those that were recorded, so that nobody has to ask for them again. */
  readonly recordedIds: ReadonlySet<string>;
  readonly deadlineMs: number;
  readonly report: Report;
}

/**
 * Stops every container that is written down but was not recorded, and forgets all of them. Returns
 * the services whose container still was there. Throws ENGINE_SILENT.
 */
export async function sweepContainers(sweep: Sweep): Promise<string[]> {
  const stopped: string[] = [];
  for (const file of await idFiles(sweep.stateDir)) {
    const service = basename(file, ending);
    const id = (await readTextIfThere(file))?.trim() ?? '';
    const left = id !== '' && !sweep.recordedIds.has(id) && (await stopLeft(sweep, service, id));
    if (left) stopped.push(service);
    await rm(file, { force: true });
  }
  return stopped;
}

async function stopLeft(sweep: Sweep, service: string, id: string): Promise<boolean> {
  const name = containerLabel(sweep.stateDir, service);
  const environment = engineEnvironment(sweep.environment);
  const state = await stopContainer({ id, name, environment }, sweep.deadlineMs);
  if (state === 'gone') return false;
  sweep.report({ kind: 'step', name: service, state, detail: `container ${name}, unrecorded` });
  return true;
}

async function idFiles(stateDir: string): Promise<string[]> {
  const dir = containersDir(stateDir);
  try {
    return (await readdir(dir)).filter((name) => name.endsWith(ending)).map((n) => join(dir, n));
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

function containersDir(stateDir: string): string {
  return join(stateDir, 'containers');
}
