import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { packageRoot } from '../../services/chassis/config/package-root.ts';
import { examples, fixture, type LiveStack } from './live-stack.ts';

export type HostOptions = Readonly<{
  stack: LiveStack;
  /** As `longrein start` takes them; `all` if not given. */
  services?: readonly string[];
  /** Catalog directories; the examples and the catalogs of the tests if not given. */
  catalog?: readonly string[];
  env?: Readonly<Record<string, string>>;
  /**
   * False for a test that never asks ClickHouse: `all` then leaves the event store out, whose many small inserts take as
   * much processor time as the host. The event store of a later test stores what it leaves in the log.
   */
  eventStore?: boolean;
  /** The release that tests take for the next one, in place of this one. */
  next?: boolean;
  /** Another entry of this folder than the host's own. */
  entry?: 'host' | 'mortal-host';
}>;

export type LogLine = Readonly<Record<string, unknown>> &
  Readonly<{ level?: number; msg?: string; error?: string; fix?: string; code?: string }>;

export type HostExit = Readonly<{ code: number | null; signal: NodeJS.Signals | null }>;

const catalogs = [examples, fixture('catalog'), fixture('trouble')];
const entryOf = (name: string): string => join(packageRoot, `test/support/${name}-entry.mjs`);
const built = join(packageRoot, 'dist/services/main.js');
let hosts = 0;

/** What a child needs of this process's environment: no address of a developer's own stack. */
function ownEnvironment(): Record<string, string> {
  const names = ['PATH', 'HOME', 'TMPDIR', 'LANG'];
  return Object.fromEntries(names.flatMap((name) => pairOf(name, process.env[name])));
}

const pairOf = (name: string, value: string | undefined): [string, string][] =>
  value === undefined ? [] : [[name, value]];

/** A host in a process of its own, from the build, with a state directory of its own. */
export class LiveHost {
  readonly name: string;
  readonly services: readonly string[];
  readonly stateDir: string;
  readonly exit: Promise<HostExit>;
  /** What it wrote to standard error, parsed; a line that is not JSON has only `msg`. */
  readonly log: LogLine[] = [];
  private readonly child: ChildProcess;
  private isReady = false;
  private ended: HostExit | undefined;

  constructor(options: HostOptions) {
    if (!existsSync(built)) throw new Error('there is no build: run `npm run build` first');
    const { stack, services = ['all'], next = false, entry = 'host', eventStore = true } = options;
    this.name = `test-host-${process.pid}-${++hosts}`;
    this.services = services;
    this.stateDir = mkdtempSync(join(tmpdir(), 'longrein-host-'));
    const env = {
      ...ownEnvironment(),
      LONGREIN_BROKERS: stack.brokers.join(','),
      LONGREIN_REGISTRY_URL: stack.registryUrl,
      ...(eventStore ? { LONGREIN_CLICKHOUSE_URL: stack.clickhouseUrl } : {}),
      LONGREIN_BLOB_DIR: stack.blobDir,
      LONGREIN_STATE_DIR: this.stateDir,
      LONGREIN_HOST: this.name,
      LONGREIN_CATALOG: (options.catalog ?? catalogs).join(','),
      LONGREIN_WORKSPACE: packageRoot,
      LONGREIN_SESSION_TIMEOUT_MS: '6000',
      LONGREIN_HOUSEKEEPING_MS: '1000',
      // MCP servers are programs of npm packages; those of the tests lie here.
      NODE_PATH: fixture('packages'),
      ...options.env,
    };
    this.child = spawn(process.execPath, [entryOf(next ? 'next-host' : entry), ...services], {
      cwd: packageRoot,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.exit = this.watch();
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  get running(): boolean {
    return this.ended === undefined;
  }

  private watch(): Promise<HostExit> {
    linesOf(this.child.stderr, (line) => this.log.push(parsed(line)));
    linesOf(this.child.stdout, (line) => {
      if (line.includes('"event":"ready"')) this.isReady = true;
    });
    return new Promise((resolve) => {
      this.child.once('close', (code, signal) => {
        this.ended = { code, signal };
        resolve(this.ended);
      });
    });
  }

  /** Waits until it owns its partitions. Throws with the end of its log if it ends or is late. */
  async ready(withinMs = 90_000): Promise<this> {
    await this.until(() => this.isReady || !this.running, withinMs, 'ready');
    if (!this.isReady) throw new Error(`${this.name} ended before it was ready:\n${this.tail()}`);
    return this;
  }

  /** The first line of its log that fits; waits for it. */
  async said(fits: (line: LogLine) => boolean, withinMs = 10_000): Promise<LogLine> {
    await this.until(() => this.log.some(fits), withinMs, 'such a line in its log');
    return this.log.find(fits) as LogLine;
  }

  async until(holds: () => boolean, withinMs: number, what: string): Promise<void> {
    const startMs = performance.now();
    while (!holds()) {
      if (performance.now() - startMs > withinMs)
        throw new Error(`${this.name}: no ${what} after ${withinMs} ms\n${this.tail()}`);
      await sleep(20);
    }
  }

  /** `kill -9`, and waits for the end. */
  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.exit;
  }

  /** Asks it to stop; answers how it ended and after how many milliseconds. */
  async stop(): Promise<HostExit & { stopMs: number }> {
    const startMs = performance.now();
    this.child.kill('SIGTERM');
    const exit = await this.exit;
    return { ...exit, stopMs: performance.now() - startMs };
  }

  /** For the end of a test: no process and no file is left. */
  async remove(): Promise<void> {
    if (this.running) await this.stop();
    rmSync(this.stateDir, { recursive: true, force: true });
  }

  tail(lines = 12): string {
    return this.log
      .slice(-lines)
      .map((line) => JSON.stringify(line))
      .join('\n');
  }
}

function parsed(line: string): LogLine {
  try {
    return JSON.parse(line) as LogLine;
  } catch {
    return { msg: line };
  }
}

function linesOf(stream: NodeJS.ReadableStream | null, take: (line: string) => void): void {
  let rest = '';
  stream?.setEncoding('utf8');
  stream?.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line !== '') take(line);
  });
}
