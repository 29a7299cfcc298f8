/**
 * The embedded sandbox: JavaScript in QuickJS in WebAssembly in a thread of its own. The code is
 * the body of a synchronous function that gets `input` and returns a JSON value. Inside there is
 * the language and a `console`, nothing else: no network, files, timers, modules, environment.
 * `Date` and `Math.random` are the real ones, so a run is not repeatable; what counts is its
 * recorded outcome. Jobs of promises are never run.
 *
 * Limits, innermost first: QuickJS's own (memory, stack, an interrupt handler for time, output and
 * abort), the maximum of the WebAssembly memory, and for what runs on regardless, the end of the
 * thread.
 */
import type { JsonValue } from '../../../schemas/json.ts';
import { nestsTooDeeply } from '../../chassis/effects/nesting.ts';
import { toError } from '../../chassis/errors.ts';
import type { SandboxReason, SandboxRequest, SandboxRun, SandboxRunner } from './port.ts';
import { type Ended, messageOf } from './quickjs-message.ts';
import { QuickJsPool, type Seat } from './quickjs-pool.ts';

/** How much longer than its time code may run before its thread is ended. */
const timeGraceMs = 500;
/** How long an aborted run may take to notice. */
const abortGraceMs = 150;
const headerBytes = 12;
/** What is printed is for reading; the value may be as large as the call's limit. */
const printedBytesMax = 256 * 1024;

export type QuickJsOptions = Readonly<{
  /** Threads at most; each runs one call at a time and holds about 25 MB. */
  workers: number;
  /** No call may ask for more; the hard bound of every WebAssembly memory. */
  memoryBytesMax: number;
}>;

/** With the input as JSON text. */
type WrittenRequest = Omit<SandboxRequest, 'input'> & Readonly<{ input: string }>;
type Interruption = 'time' | 'aborted' | 'died';
type Printed = Readonly<{ stdout: string; stdoutTruncated: boolean }>;

const nothingPrinted: Printed = { stdout: '', stdoutTruncated: false };

/** A sandbox runner that needs nothing installed. Threads start with the first call. */
export function createQuickJsRunner(options: QuickJsOptions): SandboxRunner {
  const pool = new QuickJsPool({ ...options, sharedBytes: headerBytes + printedBytesMax });
  return {
    isolation: 'wasm-quickjs',
    run: (request) => runIn(pool, request),
    close: () => pool.close(),
  };
}

async function runIn(pool: QuickJsPool, request: SandboxRequest): Promise<SandboxRun> {
  try {
    request.signal.throwIfAborted();
    const input = JSON.stringify(request.input);
    const seat = await pool.lend(request.signal);
    const ended = await perform(pool, seat, { ...request, input });
    const printed = printedIn(seat.shared);
    // Only now: the next borrower writes into the same memory. A discarded one stays away.
    pool.giveBack(seat);
    return outcome(request, ended, printed);
  } catch (error) {
    const message = toError(error).message;
    // The input nested too deeply to be written.
    const code = error instanceof RangeError ? 'stack' : 'lost';
    const ended: Ended = request.signal.aborted
      ? { code: 'aborted', durationMs: 0 }
      : { code, message, durationMs: 0 };
    return outcome(request, ended, nothingPrinted);
  }
}

/** Runs the code in the thread, which is ended if it did not end the run by itself. */
async function perform(pool: QuickJsPool, seat: Seat, request: WrittenRequest): Promise<Ended> {
  const startedMs = performance.now();
  seat.worker.ref();
  const ended = await race(seat, request);
  seat.worker.unref();
  if (typeof ended === 'object') return ended;
  await pool.discard(seat);
  const durationMs = Math.ceil(performance.now() - startedMs);
  if (ended !== 'died') return { code: ended, durationMs };
  return { code: request.signal.aborted ? 'aborted' : 'lost', durationMs };
}

function race({ worker, shared }: Seat, request: WrittenRequest): Promise<Ended | Interruption> {
  const { code, input, limits, signal } = request;
  const flags = new Int32Array(shared, 0, 3).fill(0);
  return new Promise((resolve) => {
    let late: NodeJS.Timeout | undefined;
    const overtime = setTimeout(() => settle('time'), limits.timeMs + timeGraceMs);
    const died = () => settle('died');
    const answered = (ended: Ended) => settle(ended);
    const aborted = () => {
      Atomics.store(flags, 0, 1);
      late = setTimeout(() => settle('aborted'), abortGraceMs);
    };
    const settle = (ended: Ended | Interruption) => {
      clearTimeout(overtime);
      clearTimeout(late);
      signal.removeEventListener('abort', aborted);
      worker.off('message', answered).off('exit', died).off('error', died);
      resolve(ended);
    };
    worker.once('message', answered).once('exit', died).once('error', died);
    signal.addEventListener('abort', aborted, { once: true });
    if (signal.aborted) aborted();
    worker.postMessage({ code, input, limits, printedBytesMax: printableBytes(request) });
  });
}

function printableBytes({ limits }: Pick<SandboxRequest, 'limits'>): number {
  return Math.min(limits.outputBytes, printedBytesMax);
}

function printedIn(shared: SharedArrayBuffer): Printed {
  const [, printedBytes = 0, truncated = 0] = new Int32Array(shared, 0, 3);
  const stdout = Buffer.from(shared, headerBytes, printedBytes).toString('utf8');
  return { stdout, stdoutTruncated: truncated !== 0 };
}

function outcome(request: SandboxRequest, ended: Ended, printed: Printed): SandboxRun {
  const { durationMs, memoryBytes, line } = ended;
  const usage = memoryBytes === undefined ? { durationMs } : { durationMs, memoryBytes };
  if (ended.value !== undefined && !nestsTooDeeply(ended.value)) {
    return { exit: 'exited', value: JSON.parse(ended.value) as JsonValue, ...printed, usage };
  }
  const code = ended.code ?? (ended.value === undefined ? 'lost' : 'stack');
  const message = messageOf(code, ended, {
    ...request.limits,
    printedBytesMax: printableBytes(request),
    stdoutTruncated: printed.stdoutTruncated,
  });
  const reason = line === undefined ? { code, message } : { code, message, line };
  return { exit: exitOf(code), reason, ...printed, usage };
}

function exitOf(code: SandboxReason['code']): SandboxRun['exit'] {
  if (code === 'lost') return 'unknown';
  return code === 'threw' || code === 'syntax' || code === 'not-json' ? 'exited' : 'killed';
}
