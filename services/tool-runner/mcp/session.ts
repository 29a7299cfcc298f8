/**
 * One running MCP server that has shaken hands: its client, its tools, and whether it is still
 * there. Ends with the process and is never used again; the connection makes the next one.
 */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import {
  type CallToolResult,
  CallToolResultSchema,
  ErrorCode,
  McpError,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import type { JsonObject } from '../../../schemas/json.ts';
import { LongreinError, toError } from '../../chassis/errors.ts';
import { ProcessTransport, type ProcessTransportOptions } from './process-transport.ts';
import type { Veil } from './veil.ts';

/** Deadlines are kept by signals; this is only to switch off the SDK's own minute. */
const noTimeoutMs = 2_147_483_647;
/** For a sign of life after a call that timed out. */
const pingTimeoutMs = 5_000;
const toolPagesMax = 100;
/** In `_meta` of a call. */
const idempotencyKeyName = 'longrein/idempotencyKey';

export type SessionOptions = ProcessTransportOptions &
  Readonly<{
    startTimeoutMs: number;
    /** Ends a start that is under way. */
    closing: AbortSignal;
    onEnd: () => void;
    /**
     * Oddities on the wire that end nothing: text that is no message, answers that came too late.
     */
    onOddity: (error: Error) => void;
  }>;

export type SessionCall = Readonly<{
  /** Handed over as the idempotency key: a server that keeps it makes a repeated call once. */
  callId: string;
  tool: string;
  arguments: JsonObject;
  traceparent: string | undefined;
  signal: AbortSignal;
  /** How long the server may go without a word of progress; undefined: up to the deadline. */
  silenceMs: number | undefined;
}>;

/** A tool as its server lists it; `schema` is that of its input. */
export type ListedTool = Readonly<{ name: string; schema: JsonObject }>;

/** Each word of progress is a heartbeat: it begins the time anew. The client of MCP asks for them. */
function lifeOf({ silenceMs }: SessionCall) {
  if (silenceMs === undefined) return { timeout: noTimeoutMs };
  return { timeout: silenceMs, resetTimeoutOnProgress: true, onprogress: () => undefined };
}

export class McpSession {
  readonly #options: SessionOptions;
  readonly #client: Client;
  readonly #transport: ProcessTransport;
  #tools: Promise<readonly string[]> | undefined;

  private constructor(options: SessionOptions, client: Client, transport: ProcessTransport) {
    this.#options = options;
    this.#client = client;
    this.#transport = transport;
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      this.#tools = undefined;
    });
  }

  /** Starts the server and shakes hands. Rejects when it does not run, or not within its time. */
  static async open(options: SessionOptions): Promise<McpSession> {
    const transport = new ProcessTransport(options);
    const client = new Client({ name: 'longrein', version: '1.0.0' }, { capabilities: {} });
    client.onerror = options.onOddity;
    const session = new McpSession(options, client, transport);
    const giveUp = () => void transport.close();
    options.closing.addEventListener('abort', giveUp, { once: true });
    try {
      await client.connect(transport, { timeout: options.startTimeoutMs });
      await session.toolNames();
    } catch (error) {
      await transport.close();
      throw session.#startError(toError(error));
    } finally {
      options.closing.removeEventListener('abort', giveUp);
    }
    client.onclose = options.onEnd;
    // It may have ended between the last answer and here.
    if (transport.ended !== undefined) {
      throw session.#startError(new Error('it ended at once'));
    }
    return session;
  }

  get pid(): number | undefined {
    return this.#transport.pid;
  }

  /** How the process ended; undefined while it runs. */
  get ended(): string | undefined {
    return this.#transport.ended;
  }

  get stderrTail(): string {
    return this.#transport.stderrTail;
  }

  /** Lies over whatever of the server's words is kept. */
  get veil(): Veil {
    return this.#options.veil;
  }

  /** Names of the tools that the server has now. */
  async toolNames(): Promise<readonly string[]> {
    this.#tools ??= this.#namesListed().catch((error: unknown) => {
      this.#tools = undefined;
      throw error;
    });
    return this.#tools;
  }

  /** Asks the server anew which tools it has. Rejects when it does not answer, and when the signal fires. */
  async listTools(signal?: AbortSignal): Promise<readonly ListedTool[]> {
    if (this.#client.getServerCapabilities()?.tools === undefined) return [];
    const options = {
      timeout: this.#options.startTimeoutMs,
      ...(signal === undefined ? {} : { signal }),
    };
    const found: ListedTool[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < toolPagesMax; page += 1) {
      const listed = await this.#client.listTools(cursor === undefined ? {} : { cursor }, options);
      for (const { name, inputSchema } of listed.tools)
        found.push({ name, schema: inputSchema as unknown as JsonObject });
      cursor = listed.nextCursor;
      if (cursor === undefined) break;
    }
    return found.sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  /**
   * Calls a tool. Rejects with what the SDK throws, when the server ends, and when the signal
   * fires.
   */
  call(given: SessionCall): Promise<CallToolResult> {
    const { callId, tool, traceparent, signal } = given;
    const trace = traceparent === undefined ? {} : { traceparent };
    const _meta = { [idempotencyKeyName]: callId, ...trace };
    const params = { name: tool, arguments: { ...given.arguments }, _meta };
    const request = { method: 'tools/call' as const, params };
    return this.#client.request(request, CallToolResultSchema, { signal, ...lifeOf(given) });
  }

  /**
   * Ends the server if it gives no sign of life: one that hangs would take every further call with
   * it. A server in the middle of a long message cannot answer, but its bytes show that it lives.
   */
  async endUnlessAlive(): Promise<void> {
    const receivedBytes = this.#transport.receivedBytes;
    try {
      await this.#client.ping({ timeout: pingTimeoutMs });
    } catch {
      if (this.#transport.receivedBytes === receivedBytes) await this.close();
    }
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  async #namesListed(): Promise<readonly string[]> {
    const tools = await this.listTools();
    return tools.map(({ name }) => name);
  }

  #startError(error: Error): LongreinError {
    if (error instanceof LongreinError) return error;
    const { ended, stderrTail } = this.#transport;
    const said = stderrTail.trim() === '' ? '' : `; it wrote: ${stderrTail.trim().slice(-500)}`;
    const late = error instanceof McpError && error.code === ErrorCode.RequestTimeout;
    const how = late ? `no answer within ${this.#options.startTimeoutMs} ms` : error.message;
    const exit = ended === undefined ? '' : ` (${ended})`;
    return new LongreinError('MCP_START_FAILED', `it did not start: ${how}${exit}${said}`, {
      fix: 'Check its arguments and variables; run it by hand to see what it says.',
      retryable: true,
      cause: error,
    });
  }
}
