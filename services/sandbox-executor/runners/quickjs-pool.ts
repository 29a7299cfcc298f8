/**
 * Threads for the QuickJS runner: started when first needed, kept warm, lent to one call at a time
 * in the order of asking, replaced when they were terminated or died. Knows nothing of what runs in
 * them.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { LongreinError } from '../../chassis/errors.ts';

const workerFile = 'services/sandbox-executor/runners/quickjs-worker.mjs';
const wasmPageBytes = 65_536;
/** QuickJS stops at half a megabyte of its own stack, which is up to 12 MB of the thread's. */
const threadLimits = { stackSizeMb: 16, maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 16 };

/**
 * A thread and the memory it shares with its borrower: abort flag, bytes printed and truncated flag
 * (32 bits each), then what was printed. One for all calls of a thread, as each new one would be
 * zeroed and touched.
 */
export type Seat = Readonly<{ worker: Worker; shared: SharedArrayBuffer }>;

export type PoolOptions = Readonly<{
  workers: number;
  memoryBytesMax: number;
  sharedBytes: number;
}>;

type Waiter = Readonly<{ resolve: (seat: Seat) => void; reject: (error: Error) => void }>;

/** The root of this package, from the sources and from the compiled program alike. */
function packageRoot(): string {
  let directory = dirname(fileURLToPath(import.meta.url));
  for (;;) {
    const file = join(directory, 'package.json');
    if (existsSync(file) && JSON.parse(readFileSync(file, 'utf8')).name === 'longrein') {
      return directory;
    }
    const parent = dirname(directory);
    if (parent === directory) {
      throw new LongreinError('SANDBOX_FILES_MISSING', `no package.json above ${file}`, {
        fix: 'Run the program inside its own package, with the sources beside dist.',
      });
    }
    directory = parent;
  }
}

function ready(worker: Worker): Promise<void> {
  return new Promise((resolve, reject) => {
    const exited = (code: number) => reject(new Error(`the thread ended at start (exit ${code})`));
    worker.once('message', () => {
      worker.off('error', reject).off('exit', exited);
      worker.unref();
      resolve();
    });
    worker.once('error', reject).once('exit', exited);
  });
}

export class QuickJsPool {
  readonly #options: PoolOptions;
  readonly #all = new Set<Seat>();
  readonly #idle: Seat[] = [];
  readonly #waiting = new Set<Waiter>();
  #starting = 0;
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /**
   * A thread that is up and free. Rejects when the signal fires first, at close, and if none can be
   * started.
   */
  lend(signal: AbortSignal): Promise<Seat> {
    if (this.#closed) return Promise.reject(closedError());
    return new Promise((resolve, reject) => {
      const aborted = () => waiter.reject(new LongreinError('SANDBOX_WAIT_ABORTED', 'cancelled'));
      const settled = () => {
        signal.removeEventListener('abort', aborted);
        this.#waiting.delete(waiter);
      };
      const waiter: Waiter = {
        resolve: (seat) => {
          settled();
          resolve(seat);
        },
        reject: (error) => {
          settled();
          reject(error);
        },
      };
      this.#waiting.add(waiter);
      signal.addEventListener('abort', aborted, { once: true });
      this.#serve();
    });
  }

  giveBack(seat: Seat): void {
    if (this.#all.has(seat)) this.#idle.push(seat);
    this.#serve();
  }

  /** Ends a thread whatever it does. The next call that needs one starts another. */
  async discard(seat: Seat): Promise<void> {
    this.#forget(seat);
    await seat.worker.terminate();
    this.#serve();
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const waiter of [...this.#waiting]) waiter.reject(closedError());
    await Promise.all([...this.#all].map((seat) => this.discard(seat)));
  }

  #serve(): void {
    for (const waiter of [...this.#waiting]) {
      const seat = this.#idle.pop();
      if (seat === undefined) break;
      waiter.resolve(seat);
    }
    const free = this.#options.workers - this.#all.size;
    const wanted = Math.min(free, this.#waiting.size - this.#starting);
    for (let count = 0; count < wanted; count += 1) void this.#start();
  }

  async #start(): Promise<void> {
    this.#starting += 1;
    try {
      this.#idle.push(await this.#spawn());
    } catch (error) {
      const [first] = this.#waiting;
      first?.reject(startError(error));
    } finally {
      this.#starting -= 1;
    }
    this.#serve();
  }

  async #spawn(): Promise<Seat> {
    const shared = new SharedArrayBuffer(this.#options.sharedBytes);
    const worker = new Worker(join(packageRoot(), workerFile), {
      workerData: { shared, pagesMax: Math.ceil(this.#options.memoryBytesMax / wasmPageBytes) },
      // Nothing of this process: no variables, no hooks given to it on its command line.
      env: {},
      argv: [],
      execArgv: [],
      resourceLimits: threadLimits,
    });
    const seat: Seat = { worker, shared };
    this.#all.add(seat);
    worker.once('exit', () => this.#forget(seat));
    // Without a listener an error of an idle thread would end the process.
    worker.on('error', () => this.#forget(seat));
    await ready(worker);
    return seat;
  }

  #forget(seat: Seat): void {
    this.#all.delete(seat);
    const index = this.#idle.indexOf(seat);
    if (index >= 0) this.#idle.splice(index, 1);
  }
}

function closedError(): LongreinError {
  return new LongreinError('SANDBOX_CLOSED', 'the sandbox is shutting down', { retryable: true });
}

function startError(cause: unknown): LongreinError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new LongreinError('SANDBOX_START_FAILED', `no sandbox thread could be started: ${why}`, {
    retryable: true,
    cause,
  });
}
