import { afterAll, describe, expect, it, vi } from 'vitest';
import type { JsonValue } from '../../../../schemas/json.ts';
import { createQuickJsRunner } from '../../../../services/sandbox-executor/runners/quickjs.ts';
import { createSandboxTool } from '../../../../services/sandbox-executor/sandbox-tool.ts';
import { errorOf, resultOf, toolCall } from '../../../support/tool-call.ts';

vi.setConfig({ testTimeout: 60_000 });

const megabyte = 1024 * 1024;
const tool = createSandboxTool({
  sandbox: createQuickJsRunner({ workers: 1, memoryBytesMax: 64 * megabyte }),
  allowance: {
    timeMs: 2_000,
    timeMsMax: 30_000,
    memoryBytes: 32 * megabyte,
    memoryBytesMax: 64 * megabyte,
  },
  nowMs: Date.now,
});
afterAll(() => tool.close());

type Changes = Readonly<{ timeMs?: number; signal?: AbortSignal; resultBytesMax?: number }>;

function run(given: JsonValue, { resultBytesMax = 100_000, ...changes }: Changes = {}) {
  const definition = {
    name: 'code.run',
    runner: { kind: 'sandbox', language: 'javascript' },
    resultBytesMax,
  } as const;
  return tool.run(toolCall(given, { ...changes, definition }));
}

describe('the tool that runs code', () => {
  it('answers with the value and what was printed, and notes the isolation', async () => {
    const outcome = await run({ code: 'console.log("hi"); return input.n + 1', input: { n: 1 } });
    expect(resultOf(outcome)).toEqual({ value: 2, stdout: 'hi\n' });
    expect(outcome).toMatchObject({
      notes: { isolation: 'wasm-quickjs', exit: 'exited', durationMs: expect.any(Number) },
    });
  });

  const ends: [title: string, given: JsonValue, error: object][] = [
    ['throws', { code: 'throw new Error("x")' }, { class: 'tool-error' }],
    ['cannot be parsed', { code: 'return (' }, { class: 'invalid-arguments' }],
    ['returns no JSON', { code: 'return undefined' }, { class: 'tool-error' }],
    ['loops', { code: 'for (;;);', timeMs: 50 }, { class: 'timeout', code: 'SANDBOX_TIME' }],
    [
      'eats memory',
      { code: 'const a = []; for (;;) a.push({})', memoryBytes: 2 * megabyte },
      { class: 'limit' },
    ],
    ['recurses', { code: 'const f = () => f() + 1; return f()' }, { class: 'limit' }],
    ['returns too much', { code: 'return "x".repeat(200000)' }, { class: 'limit' }],
  ];
  it.each(ends)('gives code that %s its class, and no retry', async (_title, given, error) => {
    const outcome = await run(given);
    expect(errorOf(outcome)).toMatchObject({ ...error, retryable: false });
    expect(outcome).toMatchObject({ kind: 'failed', notes: { isolation: 'wasm-quickjs' } });
  });

  const wrong: [title: string, given: JsonValue, named: string][] = [
    ['no object', 'return 1', 'code'],
    ['no code', { input: 1 }, 'code'],
    ['empty code', { code: ' ' }, 'code'],
    ['too much time', { code: 'return 1', timeMs: 60_000 }, 'timeMs'],
    ['a time that is no number', { code: 'return 1', timeMs: '5' }, 'timeMs'],
    ['too much memory', { code: 'return 1', memoryBytes: 1e9 }, 'memoryBytes'],
    ['too little memory', { code: 'return 1', memoryBytes: 10 }, 'memoryBytes'],
  ];
  it.each(wrong)('refuses %s and says what it takes', async (_title, given, named) => {
    const error = errorOf(await run(given));
    expect(error).toMatchObject({ class: 'invalid-arguments', retryable: false });
    expect(error.message).toContain(`\`${named}\``);
    expect(error.fix).toBeDefined();
  });

  it('ends with the deadline of the call, also while it waits for a sandbox', async () => {
    const busy = run({ code: 'for (;;);', timeMs: 1_000 });
    const late = await run({ code: 'return 1' }, { timeMs: 100 });
    expect(errorOf(late)).toMatchObject({ class: 'timeout', retryable: true });
    expect(errorOf(await busy).code).toBe('SANDBOX_TIME');
    const over = await run({ code: 'return 1' }, { timeMs: 0 });
    expect(errorOf(over).class).toBe('timeout');
  });

  it('ends when the call is cancelled', async () => {
    const cancel = new AbortController();
    const running = run({ code: 'for (;;);' }, { signal: cancel.signal });
    setTimeout(() => cancel.abort(), 50);
    expect(errorOf(await running)).toMatchObject({ class: 'cancelled', retryable: false });
  });
});
