/**
 * Starts, recognises and stops the processes of the stack. They outlive the command that starts
 * them, so each is recorded with a mark (process-mark.ts) and is only ever stopped while pid and
 * mark still agree.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { LongreinError, toError } from '../../services/chassis/errors.ts';
import { type ContainerRecord, containerState, stopContainer } from './container.ts';
import { isMissing } from './files.ts';
import { markOf } from './process-mark.ts';

export interface ProcessRecord {
  readonly name: string;
  readonly pid: number;
  readonly startedAtMark: string;
  readonly port: number | null;
  readonly logFile: string;
  /** A file that the process writes while it ends, moved into place only after a clean end. */
  readonly leaves?: { readonly from: string; readonly to: string };
  /** Set if the process is a docker client: what counts is the container, which may outlive it. */
  readonly container?: ContainerRecord;
}

export interface StartOptions {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  readonly logFile: string;
  readonly port?: number;
  readonly leaves?: { readonly from: string; readonly to: string };
}

export type StopOutcome = 'stopped' | 'killed' | 'gone';

const pollMs = 25;

/**
 * Starts a process in a session of its own, with both outputs appended to the log file.
 * Throws PROCESS_START if the program cannot be run or ends before it can be recorded.
 */
export async function startDetached(options: StartOptions): Promise<ProcessRecord> {
  mkdirSync(dirname(options.logFile), { recursive: true });
  const log = openSync(options.logFile, 'a');
  try {
    const child = spawn(options.command, [...options.args], {
      detached: true,
      stdio: ['ignore', log, log],
      env: { ...options.env },
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    });
    await once(child, 'spawn');
    child.unref();
    return recordOf(options, child.pid, await markOf(child.pid ?? 0));
  } catch (error) {
    if (error instanceof LongreinError) throw error;
    throw startError(options, toError(error).message);
  } finally {
    closeSync(log);
  }
}

function recordOf(options: StartOptions, pid?: number, mark?: string): ProcessRecord {
  if (pid === undefined || mark === undefined) throw startError(options, 'it ended at once');
  return {
    name: options.name,
    pid,
    startedAtMark: mark,
    port: options.port ?? null,
    logFile: options.logFile,
    ...(options.leaves === undefined ? {} : { leaves: options.leaves }),
  };
}

function startError(options: StartOptions, reason: string): LongreinError {
  return new LongreinError('PROCESS_START', `${options.name} did not start: ${reason}`, {
    fix: `Run it by hand to see why: ${options.command}. Its log is ${options.logFile}.`,
  });
}

/**
 * Whether the recorded process, or its container, still runs; false too when its pid now belongs to
 * another program.
 */
export async function isAlive(record: ProcessRecord): Promise<boolean> {
  if (await isItself(record)) return true;
  return record.container !== undefined && (await containerRuns(record.container));
}

async function isItself(record: ProcessRecord): Promise<boolean> {
  return (await markOf(record.pid)) === record.startedAtMark;
}

/** An engine that does not answer runs nothing that could be used. */
async function containerRuns(container: ContainerRecord): Promise<boolean> {
  try {
    return (await containerState(container)) === 'running';
  } catch (error) {
    if (error instanceof LongreinError && error.code === 'ENGINE_SILENT') return false;
    throw error;
  }
}

/**
 * Asks the process to end (SIGTERM) and kills its whole group once the deadline is over.
 * A process that is not the recorded one is left alone. Throws PROCESS_STOP, or ENGINE_SILENT if it
 * is a container and Docker does not answer.
 */
export async function stopProcess(record: ProcessRecord, deadlineMs: number): Promise<StopOutcome> {
  if (record.container) return await stopContained(record, record.container, deadlineMs);
  return await stopItself(record, deadlineMs);
}

async function stopContained(
  record: ProcessRecord,
  container: ContainerRecord,
  deadlineMs: number,
): Promise<StopOutcome> {
  const outcome = await stopContainer(container, deadlineMs);
  if (outcome === 'stopped') await keepWhatItLeaves(record);
  else if (record.leaves) await rm(record.leaves.from, { force: true });
  // The client ends with its container, a moment later.
  if (!(await goneWithin(record, 2_000))) await stopItself(record, 2_000);
  return outcome;
}

async function stopItself(record: ProcessRecord, deadlineMs: number): Promise<StopOutcome> {
  if (!(await isItself(record))) return 'gone';
  signal(record.pid, 'SIGTERM');
  if (await goneWithin(record, deadlineMs)) {
    await keepWhatItLeaves(record);
    return 'stopped';
  }
  signal(-record.pid, 'SIGKILL');
  if (!(await goneWithin(record, 5_000))) {
    throw new LongreinError('PROCESS_STOP', `${record.name} (pid ${record.pid}) did not end`, {
      fix: `It ignores SIGKILL, so the system holds it. See \`ps -p ${record.pid}\`.`,
    });
  }
  if (record.leaves) await rm(record.leaves.from, { force: true });
  return 'killed';
}

async function goneWithin(record: ProcessRecord, deadlineMs: number): Promise<boolean> {
  const polls = Math.ceil(deadlineMs / pollMs);
  for (let poll = 0; poll < polls; poll += 1) {
    if (!(await isItself(record))) return true;
    await sleep(pollMs);
  }
  return !(await isItself(record));
}

async function keepWhatItLeaves(record: ProcessRecord): Promise<void> {
  if (record.leaves === undefined) return;
  try {
    await rename(record.leaves.from, record.leaves.to);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

function signal(pid: number, name: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    // It ended between the look and the signal.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
