import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pino from 'pino';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import {
  createMcpTool,
  type McpToolRunner,
} from '../../../../services/tool-runner/mcp/mcp-tool.ts';
import { errorOf, resultOf, toolCall, toolDefinition } from '../../../support/tool-call.ts';

/** What a question to a server gives, over the connection that calls use. */

// Every test starts processes; on a busy machine that takes its time.
vi.setConfig({ testTimeout: 60_000 });

const fixture = (name: string): string =>
  fileURLToPath(new URL(`../../../fixtures/mcp/${name}-server.mjs`, import.meta.url));

let directory: string;
let runner: McpToolRunner;

const feel = (mood: string) => writeFile(join(directory, 'mood'), mood);

function server(name: string, args: readonly string[], startTimeoutMs = 30_000) {
  const rest = { env: [], startTimeoutMs, trusted: false };
  return { name, command: process.execPath, args: [fixture(name), ...args], ...rest };
}

function ask(server: string, timeMs = 50_000) {
  const check = { kind: 'mcp', server, tool: '*', checks: true } as const;
  const inputSchema = {
    ...{ type: 'object', properties: { shelf: { type: 'string' } } },
    ...{ required: ['shelf'], additionalProperties: false },
  };
  const needed = { kind: 'mcp', server, tool: 'count' } as const;
  const checked = [toolDefinition({ name: 'shelf.count', runner: needed, inputSchema })];
  const definition = { runner: check, timeoutMs: timeMs };
  return runner.run({ ...toolCall({ tools: ['shelf.count'] }, { definition, timeMs }), checked });
}

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longrein-check-'));
  await feel('well');
  const file = join(directory, 'mood');
  runner = createMcpTool({
    servers: [server('moody', [file]), server('unruly', ['mute'])],
    environment: { PATH: '/usr/bin:/bin' },
    workspace: directory,
    logger: pino({ level: 'silent' }),
    nowMs: Date.now,
    backoffMs: { first: 10, max: 100 },
  });
});
afterEach(async () => {
  await runner.close();
  await rm(directory, { recursive: true });
});

it('names the tools of a server that is well, with the schemas of those that are needed', async () => {
  expect(resultOf(await ask('moody'))).toEqual({
    ...{ server: 'moody', count: 2, tools: ['count', 'other'] },
    schemas: { 'shelf.count': expect.stringMatching(/^[0-9a-f]{64}$/) },
  });
});

it('says that a server is down, and that it is up as soon as it is', async () => {
  await feel('down');
  expect(errorOf(await ask('moody'))).toMatchObject({
    ...{ code: 'MCP_START_FAILED', class: 'unavailable', retryable: true },
    message: expect.stringContaining('cannot reach the warehouse'),
  });
  await feel('well');
  expect((await ask('moody')).kind).toBe('completed');
  await feel('down');
  expect(errorOf(await ask('moody'))).toMatchObject({ class: 'unavailable', retryable: true });
});

it.each([
  ['lacking', 'MCP_TOOL_UNKNOWN', 'not-found'],
  ['changed', 'MCP_SCHEMA_CHANGED', 'invalid-arguments'],
  ['sullen', 'MCP_CHECK_REFUSED', 'denied'],
])('asks a server that runs anew: it is %s', async (mood, code, kind) => {
  expect((await ask('moody')).kind).toBe('completed');
  const pid = runner.connections.get('moody')?.pid;
  await feel(mood);
  expect(errorOf(await ask('moody'))).toMatchObject({ code, class: kind, retryable: false });
  expect(runner.connections.get('moody')?.pid).toBe(pid);
});

it('does not wait longer than it may for a server that says nothing', async () => {
  expect(errorOf(await ask('unruly', 500))).toMatchObject({
    ...{ code: 'MCP_START_LATE', class: 'unavailable', retryable: true },
  });
});

it('of an unknown server names those that there are', async () => {
  expect(errorOf(await ask('nope'))).toMatchObject({ code: 'MCP_SERVER_UNKNOWN' });
});
