/**
 * `<stateDir>/stack.json`: addresses and processes of a running stack, for the CLI, hosts and other
 * programs. Written after every change, so that a killed `up` leaves a record of all that it
 * started.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { LongreinError } from '../../services/chassis/errors.ts';
import { readJsonIfThere, writeJsonAtomic } from './files.ts';
import type { ProcessRecord } from './processes.ts';

export interface StackFile {
  /** Empty while the broker is starting. */
  readonly brokers: readonly string[];
  /** Base of the Confluent API. */
  readonly registryUrl: string | null;
  readonly clickhouseUrl: string | null;
  readonly processes: readonly ProcessRecord[];
  readonly startedBy: { readonly pid: number; readonly at: string };
}

export type StackAddresses = Partial<Pick<StackFile, 'brokers' | 'registryUrl' | 'clickhouseUrl'>>;

/** Where stack.json lies. */
export function stackPath(stateDir: string): string {
  return join(stateDir, 'stack.json');
}

/** The running stack, or undefined if there is none. Throws STACK_FILE if the file is damaged. */
export async function readStack(stateDir: string): Promise<StackFile | undefined> {
  const path = stackPath(stateDir);
  try {
    const value = await readJsonIfThere(path);
    return value === undefined ? undefined : checked(value);
  } catch (cause) {
    throw new LongreinError('STACK_FILE', `${path} cannot be read as a stack`, {
      fix: 'Look for leftover processes with `longrein doctor`, stop them, then delete that file.',
      cause,
    });
  }
}

/**
 * The stack file in memory, saved in the order of its changes. Used while holding the stack's lock.
 */
export class StackBook {
  readonly #path: string;
  #file: StackFile;
  #saving: Promise<void> = Promise.resolve();

  constructor(stateDir: string, file: StackFile) {
    this.#path = stackPath(stateDir);
    this.#file = file;
  }

  /** Opens what is there, or begins an empty one. */
  static async open(stateDir: string): Promise<StackBook> {
    const startedBy = { pid: process.pid, at: new Date().toISOString() };
    const empty = { brokers: [], registryUrl: null, clickhouseUrl: null, processes: [], startedBy };
    return new StackBook(stateDir, (await readStack(stateDir)) ?? empty);
  }

  get file(): StackFile {
    return this.#file;
  }

  find(name: string): ProcessRecord | undefined {
    return this.#file.processes.find((record) => record.name === name);
  }

  /** Records a process in place of an older one of the same name. */
  async put(record: ProcessRecord): Promise<void> {
    const others = this.#file.processes.filter((other) => other.name !== record.name);
    await this.#change({ processes: [...others, record] });
  }

  async drop(name: string): Promise<void> {
    const processes = this.#file.processes.filter((record) => record.name !== name);
    await this.#change({ processes });
  }

  async address(addresses: StackAddresses): Promise<void> {
    await this.#change(addresses);
  }

  /** Removes the file: nothing runs any more. */
  async close(): Promise<void> {
    await this.#saving;
    await rm(this.#path, { force: true });
  }

  async #change(change: Partial<StackFile>): Promise<void> {
    this.#file = { ...this.#file, ...change };
    const file = this.#file;
    this.#saving = this.#saving.then(() => writeJsonAtomic(this.#path, file));
    await this.#saving;
  }
}

function checked(value: unknown): StackFile {
  const file = value as StackFile;
  const fine =
    typeof value === 'object' &&
    Array.isArray(file.brokers) &&
    Array.isArray(file.processes) &&
    file.processes.every((record) => Number.isInteger(record.pid) && record.startedAtMark);
  if (!fine) throw new TypeError('brokers or processes are missing');
  return file;
}
