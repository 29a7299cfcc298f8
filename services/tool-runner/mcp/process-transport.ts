/**
 * MCP over the standard streams of a child process. Beyond the SDK's own: it ends the whole process
 * group, keeps only the tail of what the server logs, inherits no environment, and answers a
 * message that is too large for its own request alone, so that the server and the other calls go
 * on.
 */
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { type JSONRPCMessage, JSONRPCMessageSchema } from '@modelcontextprotocol/sdk/types.js';
import { LongreinError, toError } from '../../chassis/errors.ts';
import type { Launch } from './launch.ts';
import { answeredBy, type Line, MessageLines } from './message-lines.ts';
import { endGroup, startGroup } from './process-group.ts';
import type { Veil } from './veil.ts';

/**
 * The code of the error that stands for an answer which was too large to read. Not one of
 * JSON-RPC's.
 */
export const oversizeCode = -31_413;

const stderrCharactersMax = 4_000;
/** How many times the largest message a server may send without an end before it is ended. */
const floodFactor = 64;

export type ProcessTransportOptions = Readonly<{
  launch: Launch;
  /** Of one message of the server. */
  messageBytesMax: number;
  /** Lies over everything that the server wrote to its standard error. */
  veil: Veil;
  /** What the server writes to its standard error, in pieces. */
  onStderr: (text: string) => void;
}>;

export class ProcessTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #options: ProcessTransportOptions;
  readonly #lines: MessageLines;
  #child: ChildProcessWithoutNullStreams | undefined;
  #ended: string | undefined;
  #stderr = '';
  #receivedBytes = 0;

  constructor(options: ProcessTransportOptions) {
    this.#options = options;
    this.#lines = new MessageLines(options.messageBytesMax);
  }

  /** All that came from the server so far. */
  get receivedBytes(): number {
    return this.#receivedBytes;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** How the process ended, for people; undefined while it runs. */
  get ended(): string | undefined {
    return this.#ended;
  }

  /** The last that the server wrote to its standard error. */
  get stderrTail(): string {
    return this.#stderr;
  }

  async start(): Promise<void> {
    const child = await startGroup(this.#options.launch).catch((error: unknown) => {
      throw notStarted(this.#options.launch, toError(error));
    });
    this.#child = child;
    child.stdout.on('data', (chunk: Buffer) => this.#receive(chunk));
    child.stderr.setEncoding('utf8').on('data', (text: string) => this.#keepStderr(text));
    // A broken pipe is followed by the end of the process, which is what counts.
    for (const stream of [child.stdin, child.stdout, child.stderr]) {
      stream.on('error', (error) => this.onerror?.(error));
    }
    child.once('close', (code, signal) => {
      this.#ended = signal === null ? `exit code ${code}` : `signal ${signal}`;
      this.onclose?.();
    });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const child = this.#child;
    if (child === undefined || this.#ended !== undefined || !child.stdin.writable) {
      throw new Error('the server does not take messages any more');
    }
    await new Promise<void>((resolve, reject) => {
      const written = (error?: Error | null) => (error ? reject(error) : resolve());
      child.stdin.write(`${JSON.stringify(message)}\n`, written);
    });
  }

  async close(): Promise<void> {
    if (this.#child !== undefined) await endGroup(this.#child);
  }

  #receive(chunk: Buffer): void {
    this.#receivedBytes += chunk.length;
    for (const line of this.#lines.push(chunk)) {
      try {
        this.#deliver(line);
      } catch (error) {
        // Servers that log to standard output are common; such a line is no reason to give up.
        this.onerror?.(toError(error));
      }
    }
    this.#endFlood();
  }

  /** Dropping costs time too: who sends without an end is ended. */
  #endFlood(): void {
    if (this.#lines.pendingBytes > floodFactor * this.#options.messageBytesMax) void this.close();
  }

  #deliver(line: Line): void {
    if (line.kind === 'text') {
      if (line.text.trim() === '') return;
      this.onmessage?.(JSONRPCMessageSchema.parse(JSON.parse(line.text)));
      return;
    }
    const id = answeredBy(line.head, line.tail);
    if (id === undefined) throw new Error(`dropped a message of ${line.bytes} bytes`);
    const error = { code: oversizeCode, message: `the answer has ${line.bytes} bytes` };
    this.onmessage?.({ jsonrpc: '2.0', id, error });
  }

  #keepStderr(text: string): void {
    const covered = this.#options.veil.cover(text);
    this.#stderr = (this.#stderr + covered).slice(-stderrCharactersMax);
    this.#options.onStderr(covered);
  }
}

function notStarted({ command, cwd }: Launch, error: Error): LongreinError {
  const where = cwd === undefined ? '' : ` in ${cwd}`;
  const message = `its command ${command} cannot be run${where}: ${error.message}`;
  return new LongreinError('MCP_COMMAND_FAILED', message, {
    fix: 'Check that the command is installed and the directory exists.',
    cause: error,
  });
}
