/**
 * One `up`, `down` or download at a time. The lock is a file that names its holder; a lock whose
 * holder no longer runs is taken over. Waiting is reported at once, so nobody sits before a silent
 * terminal.
 */
import { link, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { LongreinError } from '../../services/chassis/errors.ts';
import { errorCode, isMissing, partName, readTextIfThere } from './files.ts';
import { markOf } from './process-mark.ts';
import type { Report } from './report.ts';

export interface LockHolder {
  readonly pid: number;
  readonly mark: string;
}

export interface LockOptions {
  readonly path: string;
  /** What waits for it, for the message to a person. */
  readonly purpose: string;
  readonly report: Report;
  /** How long to wait for another holder; 10 minutes if not given. */
  readonly waitMs?: number;
}

const pollMs = 100;

/**
 * Runs `work` while holding the lock. Throws LOCKED if another process holds it for longer than
 * `waitMs`.
 */
export async function withLock<T>(options: LockOptions, work: () => Promise<T>): Promise<T> {
  await mkdir(dirname(options.path), { recursive: true });
  const text = JSON.stringify({ pid: process.pid, mark: (await markOf(process.pid)) ?? '' });
  await acquire(options, text);
  try {
    return await work();
  } finally {
    // `down --wipe` may have removed it already, and a stolen lock is not ours to remove.
    if ((await readTextIfThere(options.path)) === text) await rm(options.path, { force: true });
  }
}

async function acquire(options: LockOptions, text: string): Promise<void> {
  const tries = Math.max(1, Math.ceil((options.waitMs ?? 600_000) / pollMs));
  let told = false;
  for (let count = 0; count < tries; count += 1) {
    if (await tryCreate(options.path, text)) return;
    const found = await readTextIfThere(options.path);
    if (found === undefined) continue;
    if (!(await isHeld(found))) {
      await removeStale(options.path, found);
      continue;
    }
    if (!told) options.report({ kind: 'note', text: waitingText(options, found) });
    told = true;
    await sleep(pollMs);
  }
  throw lockedError(options, await readTextIfThere(options.path));
}

/** The holder that a lock file names, or undefined if the text is not a lock. */
export function parseHolder(text: string): LockHolder | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null) return undefined;
    if (!('pid' in value) || !('mark' in value)) return undefined;
    const { pid, mark } = value;
    return typeof pid === 'number' && typeof mark === 'string' ? { pid, mark } : undefined;
  } catch {
    return undefined;
  }
}

async function isHeld(text: string): Promise<boolean> {
  const holder = parseHolder(text);
  return holder !== undefined && (await markOf(holder.pid)) === holder.mark;
}

async function tryCreate(path: string, text: string): Promise<boolean> {
  // A link appears with its whole content, where a created file is empty for a moment.
  const part = partName(path);
  await writeFile(part, text);
  try {
    await link(part, path);
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(part, { force: true });
  }
}

async function removeStale(path: string, seen: string): Promise<void> {
  // Two waiters may find the same dead lock; the slower one must not remove the fresh lock of the
  // faster.
  const aside = partName(path);
  try {
    await rename(path, aside);
    if ((await readTextIfThere(aside)) !== seen) await link(aside, path);
  } catch (error) {
    if (!isMissing(error) && errorCode(error) !== 'EEXIST') throw error;
  } finally {
    await rm(aside, { force: true });
  }
}

function waitingText(options: LockOptions, text: string): string {
  const pid = parseHolder(text)?.pid ?? 'unknown';
  return `${options.purpose} waits for process ${pid}, which holds ${options.path}`;
}

function lockedError(options: LockOptions, text: string | undefined): LongreinError {
  const pid = (text === undefined ? undefined : parseHolder(text)?.pid) ?? 'unknown';
  return new LongreinError(
    'LOCKED',
    `${options.purpose}: process ${pid} still holds ${options.path}`,
    {
      fix: `Wait until process ${pid} is done, or stop it, and try again.`,
      retryable: true,
    },
  );
}
