/**
 * Processes that work on the data of a stack without being recorded in it: what remains when a
 * stack file was deleted by hand. Found by their working directory, so other stacks on the machine
 * are not touched. Linux only; elsewhere none are found.
 */
import { readdir, readFile, readlink } from 'node:fs/promises';
import { sep } from 'node:path';
import { containerMark } from './container.ts';
import { readStack, type StackFile } from './stack-file.ts';

export interface Leftover {
  readonly pid: number;
  readonly command: string;
}

const signs = ['kafka.Kafka', 'apicurio-registry-app', 'local/clickhouse/main.js'];

/** Unrecorded brokers, registries and engines of this state directory. */
export async function findLeftovers(stateDir: string): Promise<Leftover[]> {
  if (process.platform !== 'linux') return [];
  const records = (await readStack(stateDir))?.processes ?? [];
  const recorded = new Set(records.map((record) => record.pid));
  const marks = records.flatMap(marksOf);
  const pids = (await readdir('/proc')).map(Number).filter((pid) => pid > 0 && !recorded.has(pid));
  const found = await Promise.all(pids.map((pid) => look(pid, stateDir, marks)));
  return found.filter((leftover) => leftover !== undefined);
}

/** What runs in a recorded container has pids of its own, but says whose it is. */
function marksOf({ container }: StackFile['processes'][number]): string[] {
  return container === undefined ? [] : [containerMark(container.name)];
}

async function look(
  pid: number,
  stateDir: string,
  marks: readonly string[],
): Promise<Leftover | undefined> {
  try {
    const cwd = await readlink(`/proc/${pid}/cwd`);
    if (cwd !== stateDir && !cwd.startsWith(stateDir + sep)) return undefined;
    const words = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0');
    if (marks.some((mark) => words.includes(mark))) return undefined;
    const sign = signs.find((part) => words.some((word) => word.includes(part)));
    return sign === undefined ? undefined : { pid, command: `${words[0]} … ${sign} …` };
  } catch {
    // It ended meanwhile, or belongs to someone else: in both cases it is no leftover of ours.
    return undefined;
  }
}
