/**
 * Tools of MCP servers behind the tool port. Owns the line between "failed" and "unknown": as long
 * as nothing was sent, a call has failed; after that, an end that nobody saw is a failure only
 * where doing it again does no harm.
 */
import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';
import type { ToolDefinition } from '../../../schemas/definitions/tool.ts';
import type { JsonObject, JsonValue } from '../../../schemas/json.ts';
import { type Deadline, startDeadline } from '../../chassis/effects/deadline.ts';
import type {
  ToolCall,
  ToolFailure,
  ToolNotes,
  ToolOutcome,
  ToolRunner,
} from '../../chassis/effects/tool-port.ts';
import { toError } from '../../chassis/errors.ts';
import { outcomeOf } from './call-result.ts';
import { type ConnectionOptions, McpConnection } from './connection.ts';
import {
  cancelled,
  crashed,
  fellSilent,
  invalidArguments,
  timedOut,
  tooLarge,
  toolError,
  unavailable,
  unknownServer,
  unknownTool,
} from './failure.ts';
import { oversizeCode } from './process-transport.ts';
import { checkServer } from './server-check.ts';
import type { McpServerConfig } from './server-config.ts';
import type { McpSession } from './session.ts';

export type McpToolOptions = Pick<ConnectionOptions, 'environment' | 'workspace' | 'logger'> &
  Readonly<{
    servers: readonly McpServerConfig[];
    /** Milliseconds since 1970, to compare deadlines with. */
    nowMs: () => number;
    backoffMs?: ConnectionOptions['backoffMs'];
    messageBytesMax?: number;
  }>;

export type McpToolRunner = ToolRunner &
  Readonly<{
    /** The connection to each configured server, for health and for tests. */
    connections: ReadonlyMap<string, McpConnection>;
  }>;

const backoffMsDefault = { first: 200, max: 30_000 };
const messageBytesMaxDefault = 16 * 1024 * 1024;

type Target = Readonly<{ connection: McpConnection; server: string; tool: string }>;

/**
 * The runner of tools whose `runner.kind` is `mcp`. Servers start with the first call that needs
 * them.
 */
export function createMcpTool(options: McpToolOptions): McpToolRunner {
  const { servers, nowMs, environment, workspace, logger } = options;
  const { backoffMs = backoffMsDefault, messageBytesMax = messageBytesMaxDefault } = options;
  const shared = { environment, workspace, logger, backoffMs, messageBytesMax };
  const connections = new Map(
    servers.map((config) => [config.name, new McpConnection({ ...shared, config })]),
  );
  return {
    connections,
    run: (call) => runCall(connections, call, nowMs),
    close: async () => {
      await Promise.all([...connections.values()].map((connection) => connection.close()));
    },
  };
}

async function runCall(
  connections: ReadonlyMap<string, McpConnection>,
  call: ToolCall,
  nowMs: () => number,
): Promise<ToolOutcome> {
  const { runner } = call.definition;
  if (runner.kind !== 'mcp') return failed(toolError('MCP_NOT_MCP', `${call.tool} is not MCP.`));
  const connection = connections.get(runner.server);
  if (connection === undefined)
    return failed(unknownServer(runner.server, [...connections.keys()]));
  const remainingMs = Math.min(call.deadlineAtMs - nowMs(), call.definition.timeoutMs);
  const deadline = startDeadline([call.signal], remainingMs);
  const startedMs = performance.now();
  const { server } = runner;
  const outcome =
    runner.checks === true
      ? await checkServer({ connection, server, call, deadline })
      : await attempt({ connection, ...runner }, call, deadline);
  deadline.clear();
  const durationMs = Math.ceil(performance.now() - startedMs);
  return noted(outcome, { isolation: 'host-process', server: runner.server, durationMs });
}

/** What comes before anything is sent: every end here is a failure. */
async function attempt(target: Target, call: ToolCall, deadline: Deadline): Promise<ToolOutcome> {
  if (!isObject(call.arguments)) {
    return failed(invalidArguments(`The arguments of ${call.tool} are not an object.`));
  }
  try {
    const session = await target.connection.session(deadline.signal);
    const names = await session.toolNames();
    if (!names.includes(target.tool)) return failed(unknownTool(target.server, target.tool, names));
    if (!deadline.signal.aborted) return send({ target, session, call, deadline });
  } catch (error) {
    if (call.signal.aborted) return failed(cancelled(call.tool));
    return failed(unavailable(target.server, toError(error)));
  }
  return failed(deadline.isExpired() ? timedOut(call.tool) : cancelled(call.tool));
}

type Sending = Readonly<{
  target: Target;
  session: McpSession;
  call: ToolCall;
  deadline: Deadline;
}>;

async function send(sending: Sending): Promise<ToolOutcome> {
  const { target, session, call, deadline } = sending;
  try {
    const answer = await session.call({
      callId: call.callId,
      tool: target.tool,
      arguments: isObject(call.arguments) ? call.arguments : {},
      traceparent: call.traceparent,
      signal: deadline.signal,
      silenceMs: call.definition.silenceMs,
    });
    target.connection.noteSuccess();
    return outcomeOf(call, answer, session.veil);
  } catch (error) {
    return outcomeOfError(sending, error);
  }
}

function outcomeOfError(sending: Sending, error: unknown): ToolOutcome {
  const { target, session, call, deadline } = sending;
  if (deadline.signal.aborted) {
    if (deadline.isExpired()) void session.endUnlessAlive();
    return unseen(call, deadline.isExpired() ? timedOut(call.tool) : cancelled(call.tool));
  }
  if (session.ended !== undefined) {
    return unseen(call, crashed(target.server, session.ended, session.stderrTail));
  }
  const { silenceMs } = call.definition;
  if (silenceMs !== undefined && isSilence(error, silenceMs)) {
    void session.endUnlessAlive();
    return unseen(call, fellSilent(call.tool, silenceMs));
  }
  if (error instanceof McpError) return failed(refused(call, error));
  // Nothing of the protocol: the pipe broke, or the answer has no known shape.
  return unseen(call, toolError('MCP_ANSWER_UNREADABLE', toError(error).message.slice(0, 2_000)));
}

/** The client gave up by itself, and says after how long; a server may answer with the same code, which is an answer. */
const isSilence = (error: unknown, silenceMs: number): boolean =>
  error instanceof McpError &&
  error.code === ErrorCode.RequestTimeout &&
  Object(error.data).timeout === silenceMs;

/** The server answered, with an error of the protocol. */
function refused(call: ToolCall, error: McpError): ToolFailure {
  if (error.code === oversizeCode) return tooLarge(call.tool, error.message);
  if (error.code === ErrorCode.InvalidParams)
    return invalidArguments(error.message.slice(0, 2_000));
  return toolError('MCP_PROTOCOL_ERROR', error.message.slice(0, 2_000));
}

/** It may have happened: only what can be done again without harm may be called failed. */
function unseen(call: ToolCall, error: ToolFailure): ToolOutcome {
  return isRepeatable(call.definition)
    ? { kind: 'failed', error }
    : { kind: 'unknown', error: { ...error, retryable: false } };
}

function isRepeatable({ sideEffects, idempotent }: ToolDefinition): boolean {
  return idempotent || sideEffects === 'none' || sideEffects === 'read';
}

function failed(error: ToolFailure): ToolOutcome {
  return { kind: 'failed', error };
}

function noted(outcome: ToolOutcome, notes: ToolNotes): ToolOutcome {
  return outcome.kind === 'unknown' ? outcome : { ...outcome, notes };
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
