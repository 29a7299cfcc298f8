import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pino from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ToolDefinition } from '../../../../schemas/definitions/tool.ts';
import type { JsonValue } from '../../../../schemas/json.ts';
import {
  createMcpTool,
  type McpToolOptions,
  type McpToolRunner,
} from '../../../../services/tool-runner/mcp/mcp-tool.ts';
import { errorOf, resultOf, toolCall } from '../../../support/tool-call.ts';

// Every test starts processes; on a busy machine that takes its time.
vi.setConfig({ testTimeout: 60_000 });

const fixture = fileURLToPath(new URL('../../../fixtures/mcp/unruly-server.mjs', import.meta.url));
const unruly = {
  name: 'unruly',
  command: process.execPath,
  args: [fixture],
  env: [],
  startTimeoutMs: 40_000,
  trusted: false,
};

let directory: string;
let tool: McpToolRunner;

function open(changes: Partial<McpToolOptions> = {}): McpToolRunner {
  return createMcpTool({
    servers: [unruly],
    environment: { PATH: '/usr/bin:/bin' },
    workspace: directory,
    logger: pino({ level: 'silent' }),
    nowMs: Date.now,
    backoffMs: { first: 10, max: 100 },
    ...changes,
  });
}

type Changes = Readonly<{
  definition?: Partial<ToolDefinition>;
  timeMs?: number;
  signal?: AbortSignal;
  traceparent?: string;
}>;

function call(name: string, given: JsonValue = {}, changes: Changes = {}) {
  const runner = { kind: 'mcp', server: 'unruly', tool: name } as const;
  return tool.run(toolCall(given, { ...changes, definition: { runner, ...changes.definition } }));
}

const writing = { sideEffects: 'write', idempotent: false } as const;
const pidOf = (name = 'unruly') => tool.connections.get(name)?.pid;
const stateOf = (name = 'unruly') => tool.connections.get(name)?.state;

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longrein-mcp-'));
  tool = open();
});
afterEach(async () => {
  await tool.close();
  await rm(directory, { recursive: true });
});

describe('a call of an MCP tool', () => {
  it('brings arguments, trace and its idempotency key there, and structured content back', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const outcome = await call('say', { a: [1] }, { traceparent });
    expect(resultOf(outcome)).toEqual({ given: { a: [1] }, traceparent, idempotencyKey: 'call-1' });
    expect(outcome).toMatchObject({ notes: { server: 'unruly', isolation: 'host-process' } });
  });

  it('joins text where there is no structured content', async () => {
    expect(resultOf(await call('lines'))).toEqual({ text: 'one\ntwo' });
  });

  it('keeps the parts as they are where they are not all text', async () => {
    expect(resultOf(await call('picture'))).toEqual({
      content: [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }],
    });
  });

  it('fails with what the tool says when it reports an error', async () => {
    expect(errorOf(await call('complain'))).toMatchObject({
      class: 'tool-error',
      message: 'the row is locked',
      retryable: false,
    });
  });

  it('of a tool that the server does not have names those that it has', async () => {
    const error = errorOf(await call('sya'));
    expect(error).toMatchObject({ class: 'not-found', code: 'MCP_TOOL_UNKNOWN' });
    expect(error.fix).toMatch(/lines.*say/);
  });

  it('of an unknown server names those that there are', async () => {
    const runner = { kind: 'mcp', server: 'nope', tool: 'say' } as const;
    const error = errorOf(await call('say', {}, { definition: { runner } }));
    expect(error).toMatchObject({ class: 'not-found', code: 'MCP_SERVER_UNKNOWN' });
    expect(error.fix).toContain('unruly');
  });

  it('with arguments that are no object is refused before the server starts', async () => {
    expect(errorOf(await call('say', [1]))).toMatchObject({ class: 'invalid-arguments' });
    expect(stateOf()).toBe('idle');
  });

  it('reaches a tool that the server has grown', async () => {
    expect(errorOf(await call('grown')).class).toBe('not-found');
    await call('grow');
    expect(resultOf(await call('grown'))).toEqual({ text: 'new' });
  });

  it('does not mind text that is no message', async () => {
    expect(resultOf(await call('chatter'))).toEqual({ text: 'done' });
  });
});

describe('the process of an MCP server', () => {
  it('starts with the first call and is kept', async () => {
    expect([stateOf(), pidOf()]).toEqual(['idle', undefined]);
    await Promise.all([call('say'), call('say')]);
    const pid = pidOf();
    await call('say');
    expect([stateOf(), pidOf()]).toEqual(['ready', pid]);
  });

  it('sees only the variables that it was given, and cannot give a secret away', async () => {
    await tool.close();
    const environment = { PATH: '/usr/bin:/bin', API_TOKEN: 'hush-hush', OTHER: 'hidden' };
    tool = open({ servers: [{ ...unruly, env: ['API_TOKEN'] }], environment });
    const seen = JSON.stringify(resultOf(await call('variables')));
    expect(seen).toContain('[API_TOKEN]');
    expect(seen).not.toMatch(/hush|hidden/);
  });

  it('ends with the runner, and its children with it', async () => {
    const child = Number(Object.values(Object(resultOf(await call('child'))))[0]);
    const pid = pidOf() ?? 0;
    expect([isRunning(pid), isRunning(child)]).toEqual([true, true]);
    await tool.close();
    await vi.waitFor(() => expect([isRunning(pid), isRunning(child)]).toEqual([false, false]), {
      timeout: 5_000,
    });
    expect(stateOf()).toBe('closed');
    expect(errorOf(await call('say'))).toMatchObject({ class: 'unavailable', retryable: true });
  });

  it('can be closed while it starts', async () => {
    await tool.close();
    tool = open({ servers: [{ ...unruly, args: [fixture, 'mute'] }] });
    const running = call('say');
    await vi.waitFor(() => expect(stateOf()).toBe('starting'));
    await tool.close();
    expect(errorOf(await running).class).toBe('unavailable');
  });
});

describe('a server that dies in the middle of a call', () => {
  it('leaves a failure that may be tried again when the tool only reads', async () => {
    const error = errorOf(await call('die'));
    expect(error).toMatchObject({ class: 'crashed', retryable: true });
    expect(error.message).toContain('exit code 7');
    expect(error.message).toContain('out of luck');
  });

  it('leaves an unknown outcome when the tool writes', async () => {
    const outcome = await call('die', {}, { definition: writing });
    expect(outcome).toMatchObject({ kind: 'unknown', error: { class: 'crashed' } });
    const again = await call('die', {}, { definition: { ...writing, idempotent: true } });
    expect(again.kind).toBe('failed');
  });

  it('takes the other calls with it and is started again for the next', async () => {
    const hanging = call('hang');
    await call('say');
    const pid = pidOf();
    await call('die');
    expect(errorOf(await hanging).class).toBe('crashed');
    expect(resultOf(await call('say', { n: 1 }))).toMatchObject({ given: { n: 1 } });
    expect(pidOf()).not.toBe(pid);
  });

  it('is started again later and later while nothing succeeds', async () => {
    const started = join(directory, 'starts');
    await tool.close();
    tool = open({
      servers: [{ ...unruly, args: [fixture, 'normal', started] }],
      backoffMs: { first: 60_000, max: 60_000 },
    });
    await call('die');
    const error = errorOf(await call('say', {}, { timeMs: 200 }));
    expect(error).toMatchObject({ class: 'unavailable', code: 'MCP_START_LATE', retryable: true });
    expect(error.message).toContain('exit code 7');
    expect(await readFile(started, 'utf8')).toBe('started\n');
  });
});

describe('a server that does not answer', () => {
  it('ends a reading call at its deadline, and goes on with others', async () => {
    await call('say');
    const error = errorOf(await call('hang', {}, { timeMs: 100 }));
    expect(error).toMatchObject({ class: 'timeout', retryable: true });
    const pid = pidOf();
    expect(resultOf(await call('say'))).toBeDefined();
    expect(pidOf()).toBe(pid);
  });

  it('leaves an unknown outcome of a writing call, when it is cancelled too', async () => {
    await call('say');
    const late = await call('hang', {}, { definition: writing, timeMs: 50 });
    expect(late).toMatchObject({ kind: 'unknown', error: { class: 'timeout' } });
    const cancel = new AbortController();
    const running = call('hang', {}, { definition: writing, signal: cancel.signal });
    setTimeout(() => cancel.abort(), 50);
    expect(await running).toMatchObject({ kind: 'unknown', error: { class: 'cancelled' } });
  });

  it('is cancelled without harm when the tool only reads', async () => {
    await call('say');
    const cancel = new AbortController();
    const running = call('hang', {}, { signal: cancel.signal });
    setTimeout(() => cancel.abort(), 50);
    expect(errorOf(await running)).toMatchObject({ class: 'cancelled', retryable: false });
    const before = await call('say', {}, { signal: AbortSignal.abort(), definition: writing });
    expect(before).toMatchObject({ kind: 'failed', error: { class: 'cancelled' } });
  });

  it('is told that a call is cancelled', async () => {
    const heard = join(directory, 'heard');
    await tool.close();
    tool = open({ servers: [{ ...unruly, args: [fixture, 'normal', heard] }] });
    await call('say');
    const cancel = new AbortController();
    const running = call('hang', {}, { signal: cancel.signal });
    setTimeout(() => cancel.abort(), 50);
    expect(errorOf(await running).class).toBe('cancelled');
    await vi.waitFor(
      async () => expect(await readFile(heard, 'utf8')).toBe('started\nhanging\ncancelled hang\n'),
      5_000,
    );
  });

  it('may take as long as it likes while it tells of its progress', async () => {
    const labour = { beats: 8, everyMs: 200, ends: true };
    const outcome = await call('labour', labour, { definition: { silenceMs: 1_000 } });
    expect(resultOf(outcome)).toEqual({ text: 'done' });
  });

  it('is given up when it tells of no progress any more, and unknown where it writes', async () => {
    const labour = { beats: 2, everyMs: 50, ends: false };
    const silence = { silenceMs: 500 };
    const error = errorOf(await call('labour', labour, { definition: silence }));
    expect(error).toMatchObject({ code: 'MCP_SILENT', class: 'timeout', retryable: true });
    const write = await call('labour', labour, { definition: { ...silence, ...writing } });
    expect(write).toMatchObject({ kind: 'unknown', error: { code: 'MCP_SILENT' } });
  });

  it('may say itself that it took too long: that is an answer, and no silence', async () => {
    for (const limit of [{}, { silenceMs: 30_000 }]) {
      const outcome = await call('tire', {}, { definition: { ...limit, ...writing } });
      expect(errorOf(outcome)).toMatchObject({ code: 'MCP_PROTOCOL_ERROR', class: 'tool-error' });
    }
  });

  it('is ended when it gives no sign of life at all, and started again', async () => {
    await call('say');
    const pid = pidOf() ?? 0;
    expect(errorOf(await call('block', {}, { timeMs: 100 })).class).toBe('timeout');
    await vi.waitFor(() => expect(isRunning(pid)).toBe(false), { timeout: 20_000 });
    expect(resultOf(await call('say'))).toBeDefined();
  });
});

describe('a server that answers with too much', () => {
  it('fails the call by the limit of its tool', async () => {
    const definition = { resultBytesMax: 1_000 };
    const error = errorOf(await call('flood', { bytes: 2_000 }, { definition }));
    expect(error).toMatchObject({ class: 'limit', retryable: false });
    expect(error.message).toContain('1000 are allowed');
  });

  it('fails only that call for a hundred megabytes, which are not kept', async () => {
    await call('say');
    const pid = pidOf();
    const beforeBytes = process.memoryUsage().rss;
    const cancel = new AbortController();
    const slow = { definition: { timeoutMs: 50_000 }, timeMs: 50_000 };
    const hanging = call('hang', {}, { ...slow, signal: cancel.signal });
    const error = errorOf(await call('flood', { bytes: 100_000_000 }, slow));
    expect(error).toMatchObject({ class: 'limit', code: 'MCP_RESULT_TOO_LARGE' });
    expect(process.memoryUsage().rss - beforeBytes).toBeLessThan(80_000_000);
    expect(resultOf(await call('say'))).toBeDefined();
    cancel.abort();
    expect(errorOf(await hanging).class).toBe('cancelled');
    expect(pidOf()).toBe(pid);
  });
});

describe('a server that sends without an end', () => {
  it('is ended', async () => {
    await tool.close();
    tool = open({ messageBytesMax: 100_000 });
    const slow = { definition: { timeoutMs: 50_000 }, timeMs: 50_000 };
    expect(errorOf(await call('pour', {}, slow)).class).toBe('crashed');
    expect(resultOf(await call('say'))).toBeDefined();
  });
});

describe('a server that does not start', () => {
  const servers = [
    { ...unruly, name: 'refuse', args: [fixture, 'refuse'] },
    { ...unruly, name: 'mute', args: [fixture, 'mute'], startTimeoutMs: 500 },
    { ...unruly, name: 'absent', command: 'no-such-command' },
    { ...unruly, name: 'unset', env: ['NOT_SET'] },
  ];
  const ends: [server: string, code: string, said: string][] = [
    ['refuse', 'MCP_START_FAILED', 'cannot read the database'],
    ['mute', 'MCP_START_FAILED', 'no answer within 500 ms'],
    ['absent', 'MCP_COMMAND_FAILED', 'no-such-command'],
    ['unset', 'MCP_ENV_MISSING', 'NOT_SET'],
  ];
  it.each(ends)('(%s) fails the call with %s, even one that writes', async (server, code, said) => {
    await tool.close();
    tool = open({ servers });
    const runner = { kind: 'mcp', server, tool: 'say' } as const;
    const outcome = await call('say', {}, { definition: { ...writing, runner } });
    expect(outcome).toMatchObject({ kind: 'failed', error: { class: 'unavailable', code } });
    expect(errorOf(outcome).message).toContain(said);
    expect(errorOf(outcome).fix).toBeDefined();
    expect(stateOf(server)).toBe('failed');
  });
});

describe('the real filesystem server', () => {
  const files = {
    name: 'files',
    package: '@modelcontextprotocol/server-filesystem',
    bin: 'mcp-server-filesystem',
    args: [['$', '{workspace}'].join('')],
    env: [],
    startTimeoutMs: 20_000,
    trusted: true,
  };
  const runner = { kind: 'mcp', server: 'files', tool: 'read_text_file' } as const;

  it('reads a real file, and none outside its directory', async () => {
    await tool.close();
    tool = open({ servers: [files] });
    const path = join(directory, 'package-lock.json');
    const content = JSON.stringify({ lockfileVersion: 3, name: 'é', pad: 'x'.repeat(300_000) });
    await writeFile(path, content);
    const definition = { runner };
    expect(resultOf(await call('', { path }, { definition }))).toEqual({ content });
    const missing = errorOf(await call('', { path: join(directory, 'no') }, { definition }));
    expect(missing).toMatchObject({ class: 'tool-error' });
    expect(missing.message).toContain('ENOENT');
    const outside = errorOf(await call('', { path: '/etc/hostname' }, { definition }));
    expect(outside.message).toContain('Access denied');
  });
});
