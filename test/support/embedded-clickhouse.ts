import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type ClickHouseClient, ClickHouseLogLevel, createClient } from '@clickhouse/client';

/** The embedded engine as a process of its own, as it is run outside of tests. */
export type EmbeddedClickHouse = Readonly<{
  url: string;
  /** The process that holds the data. */
  pid: number;
  directory: string;
  child: ChildProcess;
  /** What it wrote to its error output so far. */
  errors(): string;
  /** Ends it like a power cut, and waits until it is gone. */
  kill(): Promise<void>;
  /** Ends it gracefully. Resolves to its exit code. */
  stop(): Promise<number | null>;
}>;

type Options = Readonly<{
  /** A new one by default. */
  directory?: string;
  environment?: Readonly<Record<string, string>>;
  /** Let it find out by itself that it needs more threads, and start itself again. */
  ownThreads?: boolean;
}>;

const program = fileURLToPath(
  new URL('../../dist/deploy/local/clickhouse/main.js', import.meta.url),
);

export function temporaryDirectory(): string {
  return mkdtempSync(join(tmpdir(), 'longrein-clickhouse-'));
}

/**
 * Starts the engine and waits until it listens. Rejects with its error output if it ends before.
 */
export async function startEmbeddedClickHouse(options: Options = {}): Promise<EmbeddedClickHouse> {
  const directory = options.directory ?? temporaryDirectory();
  const { child, errors } = launch(directory, options);
  const ended = once(child, 'exit');
  const line = createInterface({ input: child.stdout ?? process.stdin });
  const first = await Promise.race([once(line, 'line'), ended.then(() => undefined)]);
  if (first === undefined) {
    if (options.directory === undefined) rmSync(directory, { recursive: true });
    throw new Error(`ClickHouse did not start: ${errors()}`);
  }
  const { port, pid } = JSON.parse(String(first[0])) as { port: number; pid: number };
  return {
    url: `http://127.0.0.1:${port}`,
    pid,
    directory,
    child,
    errors,
    kill: () => end(ended, () => process.kill(pid, 'SIGKILL')).then(() => undefined),
    stop: () => end(ended, () => child.kill('SIGTERM')),
  };
}

/** A client that says nothing itself: tests judge by what it throws. */
export function quietClient(
  url: string,
  options: Omit<NonNullable<Parameters<typeof createClient>[0]>, 'url' | 'log'> = {},
): ClickHouseClient {
  return createClient({ ...options, url, log: { level: ClickHouseLogLevel.OFF } });
}

function launch(directory: string, options: Options): { child: ChildProcess; errors(): string } {
  if (!existsSync(program)) throw new Error('The compiled engine is missing: run npm run build');
  const { UV_THREADPOOL_SIZE: _, ...rest } = process.env;
  const threads = options.ownThreads === true ? {} : { UV_THREADPOOL_SIZE: '16' };
  const child = spawn(process.execPath, [program], {
    env: { ...rest, ...threads, LONGREIN_CLICKHOUSE_DIR: directory, ...options.environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  return { child, errors: () => text };
}

async function end(ended: Promise<unknown[]>, signal: () => unknown): Promise<number | null> {
  try {
    signal();
  } catch (thrown) {
    // It is gone already.
    if ((thrown as NodeJS.ErrnoException).code !== 'ESRCH') throw thrown;
  }
  const [code] = await ended;
  return code as number | null;
}
