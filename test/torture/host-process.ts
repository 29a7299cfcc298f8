import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive, type ProcessRecord } from '../../deploy/local/processes.ts';
import { packageRoot } from '../../services/chassis/config/package-root.ts';
import type { ProcessBook } from './process-book.ts';

type Start = Readonly<{
  name: string;
  services: readonly string[];
  book: ProcessBook;
  env: Readonly<Record<string, string>>;
}>;

const entry = join(packageRoot, 'test/support/host-entry.mjs');
/** Linux counts processor time in hundredths of a second. */
const tickMs = 10;
const passed = ['PATH', 'HOME', 'TMPDIR', 'LANG'];

/** A host of services in a process of its own, from the build, its output in a log file of the run. */
export class HostProcess {
  readonly name: string;
  readonly services: readonly string[];
  readonly startedMs = performance.now();
  private readonly book: ProcessBook;
  private readonly record: ProcessRecord;

  private constructor({ name, services, book }: Start, record: ProcessRecord) {
    this.name = name;
    this.services = services;
    this.book = book;
    this.record = record;
  }

  static async start(options: Start): Promise<HostProcess> {
    const { name, services, book, env } = options;
    const stateDir = env['LONGREIN_STATE_DIR'] ?? '';
    const own = passed.flatMap((one) => {
      const value = process.env[one];
      return value === undefined ? [] : [[one, value] as const];
    });
    const record = await book.start({
      name,
      command: process.execPath,
      args: [entry, ...services],
      env: {
        ...Object.fromEntries(own),
        NODE_PATH: join(packageRoot, 'test/fixtures/packages'),
        LONGREIN_HOST: name,
        ...env,
      },
      cwd: packageRoot,
      logFile: join(stateDir, '..', '..', 'logs', `${name}.log`),
    });
    return new HostProcess(options, record);
  }

  get pid(): number {
    return this.record.pid;
  }

  isAlive(): Promise<boolean> {
    return isAlive(this.record);
  }

  /** Waits until it owns its partitions: never where another group owns them, and it stands by. */
  ready(withinMs = 90_000): Promise<this> {
    return this.said('"event":"ready"', withinMs);
  }

  /** Waits until it runs, as owner or on standby. */
  started(withinMs = 90_000): Promise<this> {
    return this.said('"msg":"host started"', withinMs);
  }

  /** Throws with the end of its log when it ends before, or is late. */
  private async said(words: string, withinMs: number): Promise<this> {
    const endMs = Date.now() + withinMs;
    while (!this.log().includes(words)) {
      if (!(await this.isAlive())) throw new Error(`${this.name} ended:\n${this.tail()}`);
      if (Date.now() > endMs) throw new Error(`${this.name} is not ready:\n${this.tail()}`);
      await sleep(50);
    }
    return this;
  }

  kill(): Promise<void> {
    return this.book.kill(this.record);
  }

  /** Asks it to stop; `killed` where it did not within its time. */
  stop(): Promise<'stopped' | 'killed' | 'gone'> {
    return this.book.stop(this.record, 15_000);
  }

  freeze(): void {
    process.kill(this.pid, 'SIGSTOP');
  }

  thaw(): void {
    process.kill(this.pid, 'SIGCONT');
  }

  /** Processor time so far, user and system. */
  cpuMs(): number {
    const stat = readFileSync(`/proc/${this.pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) * tickMs;
  }

  log(): string {
    return existsSync(this.record.logFile) ? readFileSync(this.record.logFile, 'utf8') : '';
  }

  tail(lines = 8): string {
    return this.log().trimEnd().split('\n').slice(-lines).join('\n');
  }
}
