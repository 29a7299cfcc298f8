/**
 * Whether an MCP server is well and has what an agent needs: it is started where it does not run, and asked anew which
 * tools it has. Nothing is called, so every end is known: well, or a failure with its class (down, too late, refused, tool
 * missing, schema changed).
 */
import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';
import type { ToolDefinition } from '../../../schemas/definitions/tool.ts';
import type { JsonValue } from '../../../schemas/json.ts';
import type { Deadline } from '../../chassis/effects/deadline.ts';
import type { ToolCall, ToolFailure, ToolOutcome } from '../../chassis/effects/tool-port.ts';
import { toError } from '../../chassis/errors.ts';
import { hashOf } from '../../chassis/protocol/hash.ts';
import type { McpConnection } from './connection.ts';
import {
  cancelled,
  checkedLate,
  checkRefused,
  schemaChanged,
  unavailable,
  unknownTool,
} from './failure.ts';
import { schemaConflict } from './schema-conflict.ts';
import type { ListedTool, McpSession } from './session.ts';

type Checking = Readonly<{
  connection: McpConnection;
  server: string;
  call: ToolCall;
  deadline: Deadline;
}>;

/** So many names are kept of what a server lists. */
const namesKeptMax = 200;

/** Asks the server. Never rejects. */
export async function checkServer(checking: Checking): Promise<ToolOutcome> {
  const { connection, deadline } = checking;
  let session: McpSession | undefined;
  try {
    session = await connection.session(deadline.signal);
    const listed = await session.listTools(deadline.signal);
    connection.noteSuccess();
    return judged(checking, session, listed);
  } catch (error) {
    return { kind: 'failed', error: failureOf(checking, session, toError(error)) };
  }
}

function failureOf(
  { server, call, deadline }: Checking,
  session: McpSession | undefined,
  error: Error,
): ToolFailure {
  if (call.signal.aborted) return cancelled(call.tool);
  if (session === undefined) return unavailable(server, error);
  if (session.ended !== undefined)
    return unavailable(server, new Error(`it ended when it was asked (${session.ended})`));
  const late = error instanceof McpError && error.code === ErrorCode.RequestTimeout;
  if (late || deadline.isExpired()) {
    // One that hangs would take every further call with it.
    void session.endUnlessAlive();
    return checkedLate(server);
  }
  return checkRefused(server, session.veil.cover(error.message));
}

function judged(
  { server, call }: Checking,
  session: McpSession,
  listed: readonly ListedTool[],
): ToolOutcome {
  const byName = new Map(listed.map((tool) => [tool.name, tool]));
  const needed = (call.checked ?? []).flatMap((own) =>
    own.runner.kind === 'mcp' ? [{ own, name: own.runner.tool }] : [],
  );
  for (const { own, name } of needed) {
    const theirs = byName.get(name);
    const error =
      theirs === undefined
        ? unknownTool(server, name, [...byName.keys()])
        : conflict(server, own, theirs);
    if (error !== undefined) return { kind: 'failed', error };
  }
  const schemas = needed.map(({ own, name }) => [own.name, hashOf(byName.get(name)?.schema ?? {})]);
  const names = [...byName.keys()].slice(0, namesKeptMax);
  const said = { server, count: listed.length, tools: names, schemas: Object.fromEntries(schemas) };
  // A name may hold what the server was given.
  const result = JSON.parse(session.veil.cover(JSON.stringify(said))) as JsonValue;
  return { kind: 'completed', result };
}

function conflict(
  server: string,
  own: ToolDefinition,
  { name, schema }: ListedTool,
): ToolFailure | undefined {
  const why = schemaConflict(own.inputSchema, schema);
  return why === undefined ? undefined : schemaChanged({ server, tool: name, file: own.name, why });
}
