/**
 * The directory of one stack. `down --wipe` empties it, so it must be ours: new, empty, called
 * `.longrein`, or marked by an earlier `up`.
 */
import { mkdir, readdir, rm, rmdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { LongreinError } from '../../services/chassis/errors.ts';
import { errorCode, isMissing, readJsonIfThere, writeJsonAtomic } from './files.ts';

const markFile = 'state.json';
const lockFile = 'lock';

/** The lock that `up`, `down` and everything else that changes the stack holds. */
export function stackLockPath(stateDir: string): string {
  return join(stateDir, lockFile);
}

/** Creates or recognises the directory. Throws STATE_DIR_FOREIGN if it holds something else. */
export async function claimStateDir(stateDir: string): Promise<void> {
  const names = await namesIn(stateDir);
  if (names.includes(markFile)) return;
  if (names.length > 0 && basename(stateDir) !== '.longrein') throw foreignError(stateDir);
  await mkdir(stateDir, { recursive: true });
  await writeJsonAtomic(join(stateDir, markFile), { format: 1 });
  await writeFile(join(stateDir, '.gitignore'), '*\n');
}

/** Removes all data of the stack; the lock stays for its holder. Throws STATE_DIR_FOREIGN. */
export async function wipeStateDir(stateDir: string): Promise<void> {
  const names = await namesIn(stateDir);
  const ours = names.includes(markFile) || basename(stateDir) === '.longrein';
  if (names.length > 0 && !ours) throw foreignError(stateDir);
  for (const name of names) await rm(join(stateDir, name), { recursive: true, force: true });
}

/** Removes the directory if nothing is in it any more. */
export async function removeIfEmpty(stateDir: string): Promise<void> {
  try {
    await rmdir(stateDir);
  } catch (error) {
    if (!isMissing(error) && errorCode(error) !== 'ENOTEMPTY') throw error;
  }
}

/** Ports that the stack used last, by name. */
export type PortMemory = Readonly<Record<string, number>>;

/** Reads the ports that were used last; nothing known is an empty record. */
export async function readPorts(stateDir: string): Promise<PortMemory> {
  const value = await readJsonIfThere(join(stateDir, 'ports.json'));
  if (typeof value !== 'object' || value === null) return {};
  const pairs = Object.entries(value).filter((pair): pair is [string, number] => isPort(pair[1]));
  return Object.fromEntries(pairs);
}

/** Adds to the ports to use again next time. */
export async function rememberPorts(stateDir: string, ports: PortMemory): Promise<void> {
  const known = await readPorts(stateDir);
  await writeJsonAtomic(join(stateDir, 'ports.json'), { ...known, ...ports });
}

function isPort(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 && value < 65_536;
}

/** What is in the directory beside the lock, which says nothing about whose it is. */
async function namesIn(dir: string): Promise<string[]> {
  try {
    return (await readdir(dir)).filter((name) => name !== lockFile);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

function foreignError(stateDir: string): LongreinError {
  return new LongreinError('STATE_DIR_FOREIGN', `${stateDir} holds files that are not Longrein's`, {
    fix: 'Set LONGREIN_STATE_DIR to a new or empty directory.',
  });
}
