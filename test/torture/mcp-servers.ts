import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The lines of a file of JSON lines; none where it does not exist. A last line without its end is not there yet. */
export function jsonLines<T>(path: string): readonly T[] {
  if (!existsSync(path)) return [];
  const text = readFileSync(path, 'utf8');
  return text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);
}

/** The counting servers of this run that live, by what they wrote down themselves. */
export function livingServers(dir: string): readonly number[] {
  const started = jsonLines<{ pid: number }>(join(dir, 'servers.jsonl'));
  return started.map(({ pid }) => pid).filter((pid) => isCountingServer(pid, dir));
}

/** A pid may belong to another program by now: only its command line tells. */
function isCountingServer(pid: number, dir: string): boolean {
  try {
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    return command.includes('counting-server.mjs') && command.includes(dir);
  } catch {
    return false;
  }
}
