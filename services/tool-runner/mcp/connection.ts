/**
 * The connection to one MCP server through all its processes: `idle` until the first call,
 * `starting`, `ready`, `failed` when it ended or did not start, `closed` for good. A failed one is
 * started again by the next call, after a wait that doubles with each failure in a row and is
 * forgotten when a call succeeds.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { LongreinError, toError } from '../../chassis/errors.ts';
import type { Logger } from '../../chassis/host/ports.ts';
import { launchOf, type Surroundings } from './launch.ts';
import type { McpServerConfig } from './server-config.ts';
import { McpSession } from './session.ts';
import { Veil } from './veil.ts';

export type McpState = 'idle' | 'starting' | 'ready' | 'failed' | 'closed';

export type ConnectionOptions = Surroundings &
  Readonly<{
    config: McpServerConfig;
    logger: Pick<Logger, 'debug' | 'info' | 'warn'>;
    /** The wait before the second start, and the longest. */
    backoffMs: Readonly<{ first: number; max: number }>;
    /** Of one message of the server; what is larger is not read into memory. */
    messageBytesMax: number;
  }>;

export class McpConnection {
  readonly #options: ConnectionOptions;
  readonly #closing = new AbortController();
  #state: McpState = 'idle';
  #session: McpSession | undefined;
  #starting: Promise<McpSession> | undefined;
  #failures = 0;
  #lastFailure: string | undefined;
  #retryAtMs = 0;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  get state(): McpState {
    return this.#state;
  }

  /** The running server's process; undefined when there is none. */
  get pid(): number | undefined {
    return this.#session?.pid;
  }

  /**
   * The session of a server that runs, started if need be. Rejects when it cannot be started, when
   * the connection is closed, and when the signal fires first (the start goes on for the next
   * call).
   */
  async session(signal: AbortSignal): Promise<McpSession> {
    if (this.#state === 'closed') throw closed();
    if (this.#session !== undefined) return this.#session;
    this.#starting ??= this.#start().finally(() => {
      this.#starting = undefined;
    });
    return unlessAborted(this.#starting, signal, () => this.#lateError());
  }

  /** A call succeeded: whatever went wrong before is over. */
  noteSuccess(): void {
    this.#failures = 0;
  }

  /** Ends the server and all that it started. Running calls fail. */
  async close(): Promise<void> {
    this.#state = 'closed';
    this.#closing.abort();
    await this.#starting?.catch(() => undefined);
    await this.#session?.close();
  }

  async #start(): Promise<McpSession> {
    await this.#waitForTurn();
    this.#state = 'starting';
    try {
      const session = await this.#open();
      if (this.#closing.signal.aborted) {
        await session.close();
        throw closed();
      }
      this.#session = session;
      this.#state = 'ready';
      this.#log('info', 'MCP server is ready', { pid: session.pid });
      return session;
    } catch (error) {
      this.#fail(toError(error).message);
      throw error;
    }
  }

  async #waitForTurn(): Promise<void> {
    const waitMs = this.#retryAtMs - performance.now();
    if (waitMs <= 0) return;
    try {
      await sleep(waitMs, undefined, { signal: this.#closing.signal });
    } catch {
      throw closed();
    }
  }

  #open(): Promise<McpSession> {
    const { config, messageBytesMax } = this.#options;
    const launch = launchOf(config, this.#options);
    const veil = new Veil(config.env.map((name) => [name, launch.env[name] ?? '']));
    return McpSession.open({
      launch,
      messageBytesMax,
      veil,
      closing: this.#closing.signal,
      startTimeoutMs: config.startTimeoutMs,
      onStderr: (text) => this.#log('debug', 'MCP server wrote', { stderr: text.slice(0, 4_000) }),
      // Only what comes before the first colon: after it, libraries quote the server.
      onOddity: (error) =>
        this.#log('debug', 'MCP oddity', { reason: /^[^:]*/.exec(error.message)?.[0] }),
      onEnd: () => this.#lose(),
    });
  }

  #lose(): void {
    const how = this.#session?.ended ?? 'unknown';
    this.#session = undefined;
    if (this.#state !== 'closed') this.#fail(`it ended with ${how}`);
  }

  #fail(reason: string): void {
    if (this.#state === 'closed') return;
    const { first, max } = this.#options.backoffMs;
    const waitMs = Math.min(first * 2 ** this.#failures, max);
    this.#failures += 1;
    this.#lastFailure = reason;
    this.#retryAtMs = performance.now() + waitMs;
    this.#state = 'failed';
    this.#log('warn', 'MCP server failed', { reason, failures: this.#failures, waitMs });
  }

  #lateError(): LongreinError {
    const last = this.#lastFailure === undefined ? '' : `; before that, ${this.#lastFailure}`;
    return new LongreinError('MCP_START_LATE', `it was not ready in time${last}`, {
      fix: 'Try again later, or give the task more time.',
      retryable: true,
    });
  }

  #log(level: 'debug' | 'info' | 'warn', message: string, facts: Record<string, unknown>): void {
    this.#options.logger[level]({ server: this.#options.config.name, ...facts }, message);
  }
}

function closed(): LongreinError {
  return new LongreinError('MCP_CLOSED', 'it is being shut down', { retryable: true });
}

function unlessAborted<T>(
  promise: Promise<T>,
  signal: AbortSignal,
  errorOfAbort: () => Error,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const aborted = () => reject(errorOfAbort());
    if (signal.aborted) aborted();
    signal.addEventListener('abort', aborted, { once: true });
    const settled = () => signal.removeEventListener('abort', aborted);
    promise.then(resolve, reject).finally(settled);
  });
}
