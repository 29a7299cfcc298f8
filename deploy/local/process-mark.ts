/**
 * Tells one process from a later one that was given the same pid. A mark is the boot and the start
 * time of a process; two processes with equal pid and equal mark are the same. No mark means no
 * such process.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { readTextIfThere } from './files.ts';

const execute = promisify(execFile);

export interface ProcessStat {
  readonly state: string;
  readonly startTicks: string;
}

/** Reads state and start time out of the text of /proc/PID/stat. */
export function parseStat(text: string): ProcessStat | undefined {
  // The command name stands in parentheses and may itself hold spaces and parentheses.
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .trim()
    .split(' ');
  const state = fields[0];
  const startTicks = fields[19];
  return state && startTicks ? { state, startTicks } : undefined;
}

/** The mark of a running process, or undefined if it does not run (a zombie does not). */
export async function markOf(pid: number): Promise<string | undefined> {
  return process.platform === 'linux' ? await markFromProc(pid) : await markFromPs(pid);
}

async function markFromProc(pid: number): Promise<string | undefined> {
  const text = await readStat(pid);
  const stat = text === undefined ? undefined : parseStat(text);
  if (stat === undefined || stat.state === 'Z' || stat.state === 'X') return undefined;
  const boot = await readTextIfThere('/proc/sys/kernel/random/boot_id');
  return `${(boot ?? '').trim().slice(0, 8)}:${stat.startTicks}`;
}

async function readStat(pid: number): Promise<string | undefined> {
  try {
    return await readFile(`/proc/${pid}/stat`, 'utf8');
  } catch {
    // Whatever the reason (gone before, or gone while it was read), there is no such process to
    // speak of.
    return undefined;
  }
}

async function markFromPs(pid: number): Promise<string | undefined> {
  try {
    const { stdout } = await execute('ps', ['-o', 'state=,lstart=', '-p', String(pid)]);
    const line = stdout.trim();
    return line === '' || line.startsWith('Z') ? undefined : line.replace(/^\S+\s+/, '');
  } catch {
    // ps ends with 1 when there is no such process.
    return undefined;
  }
}
