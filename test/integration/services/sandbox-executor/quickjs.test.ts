import { afterAll, describe, expect, it, vi } from 'vitest';
import type { JsonValue } from '../../../../schemas/json.ts';
import type {
  SandboxLimits,
  SandboxRun,
} from '../../../../services/sandbox-executor/runners/port.ts';
import { createQuickJsRunner } from '../../../../services/sandbox-executor/runners/quickjs.ts';

vi.setConfig({ testTimeout: 60_000 });

const megabyte = 1024 * 1024;
const limits: SandboxLimits = {
  timeMs: 5_000,
  memoryBytes: 32 * megabyte,
  outputBytes: 64 * 1024,
};
const runner = createQuickJsRunner({ workers: 2, memoryBytesMax: 64 * megabyte });
afterAll(() => runner.close());

type Changes = Partial<SandboxLimits> & Readonly<{ input?: JsonValue; signal?: AbortSignal }>;

function run(code: string, changes: Changes = {}): Promise<SandboxRun> {
  const { input = null, signal = new AbortController().signal, ...other } = changes;
  return runner.run({ code, input, signal, limits: { ...limits, ...other } });
}

/** Whatever happened before, the next run must be unharmed. */
async function expectUnharmed(): Promise<void> {
  expect(await run('return [typeof left, input]', { input: 1 })).toMatchObject({
    exit: 'exited',
    value: ['undefined', 1],
    stdout: '',
  });
}

describe('code that behaves', () => {
  it('gets its input and gives a JSON value back', async () => {
    const code = 'return input.list.map((n) => n * 2).concat([{ deep: [null, true, "é"] }])';
    const result = await run(code, { input: { list: [1, 2] } });
    expect(result).toMatchObject({ exit: 'exited', value: [2, 4, { deep: [null, true, 'é'] }] });
    expect(result.reason).toBeUndefined();
    expect(result.usage.memoryBytes).toBeGreaterThan(10_000);
  });

  it('prints for people', async () => {
    const code = `console.log("a", { b: [1] }, null);
      console.error("€", new Error("x")); return 0`;
    const result = await run(code);
    expect(result).toMatchObject({ stdout: 'a {"b":[1]} null\n€ Error: x\n', value: 0 });
    expect(result.stdoutTruncated).toBe(false);
  });

  it('may end with a comment and hold any text', async () => {
    expect(await run('return "`</script> \\u2028" // end')).toMatchObject({
      value: '`</script> \u2028',
    });
  });

  it('has the language and nothing of the host', async () => {
    const names = ['process', 'require', 'fetch', 'setTimeout', 'WebAssembly', 'Worker', 'Deno'];
    const code = `return input.filter((name) => name in globalThis)`;
    expect(await run(code, { input: names })).toMatchObject({ value: [] });
    const reach = 'return console.log.constructor("return typeof process")()';
    expect(await run(reach)).toMatchObject({ value: 'undefined' });
    expect(await run('return typeof Date.now() + typeof Math.random()')).toMatchObject({
      value: 'numbernumber',
    });
  });

  it('leaves nothing for the next run', async () => {
    await run(
      'globalThis.left = 1; Object.prototype.left = 2; Array.prototype.map = null; return 1',
    );
    await expectUnharmed();
    await expectUnharmed();
  });

  it('may replace built-ins without breaking how its result is taken out', async () => {
    const code = `JSON.stringify = () => "{"; String.prototype.slice = null;
      Array.prototype.join = 1;
      Function.prototype.call = null; Error = null; console.log("here"); return { a: 1 }`;
    expect(await run(code)).toMatchObject({ value: { a: 1 }, stdout: 'here\n' });
  });

  it('runs beside other code, each with its own result', async () => {
    const runs = Array.from({ length: 12 }, (_, index) => run('return input', { input: index }));
    expect((await Promise.all(runs)).map((result) => result.value)).toEqual(
      Array.from({ length: 12 }, (_, index) => index),
    );
  });
});

describe('code with a mistake', () => {
  const mistakes: [title: string, code: string, reason: object][] = [
    ['throws', '\n\nthrow new TypeError("no such row")', { code: 'threw', line: 3 }],
    ['throws what is no error', 'throw { row: 7 }', { code: 'threw' }],
    ['throws nothing', 'throw undefined', { code: 'threw' }],
    ['reads of undefined', 'const a = {};\nreturn a.b.c', { code: 'threw', line: 2 }],
    ['parses bad JSON', 'return JSON.parse("{")', { code: 'threw', line: 1 }],
    ['cannot be parsed', 'const a = 1;\nconst b = ;', { code: 'syntax', line: 2 }],
    ['uses await', 'return await 1', { code: 'syntax' }],
    ['imports', 'import fs from "node:fs"; return 1', { code: 'syntax' }],
    ['returns nothing', 'const a = 1', { code: 'not-json' }],
    ['returns a function', 'return { f() {} }', { code: 'not-json' }],
    ['returns NaN inside', 'return { rate: 0 / 0 }', { code: 'not-json' }],
    ['returns a BigInt', 'return [1n]', { code: 'not-json' }],
    ['returns a cycle', 'const a = {}; a.a = a; return a', { code: 'not-json' }],
    ['returns a promise', 'return Promise.resolve(1)', { code: 'not-json' }],
    ['returns a Map', 'return { m: new Map() }', { code: 'not-json' }],
  ];
  it.each(mistakes)('that %s is told so', async (_title, code, reason) => {
    const result = await run(code);
    expect(result).toMatchObject({ exit: 'exited', reason });
    expect(result.reason?.message).toMatch(/[.\w}]$/);
    expect(result).not.toHaveProperty('value');
  });

  it('is quoted by what it threw and where', async () => {
    const { reason } = await run('\nthrow new TypeError("no such row")');
    expect(reason?.message).toBe('The code threw (line 2): TypeError: no such row');
    const member = await run('return { rate: 0 / 0 }');
    expect(member.reason?.message).toContain('The member "rate" is NaN');
  });

  it('keeps what it printed before', async () => {
    expect(await run('console.log("so far"); throw 1')).toMatchObject({ stdout: 'so far\n' });
  });

  it('cannot flood by the error that it throws', async () => {
    const { reason } = await run('throw new Error("x".repeat(5e6))');
    expect(reason?.code).toBe('threw');
    expect(reason?.message.length).toBeLessThan(2_100);
  });
});

describe('limits', () => {
  const endless: [title: string, code: string][] = [
    ['loops', 'for (;;);'],
    ['loops and catches', 'for (;;) try { for (;;); } catch {}'],
    ['has a regular expression that explodes', 'return /(a+)+$/.test("a".repeat(60) + "b")'],
    ['loops in toJSON', 'return { toJSON() { for (;;); } }'],
    ['loops in the error that it throws', 'throw { toJSON() { for (;;); } }'],
  ];
  it.each(endless)('of time hold for code that %s', async (_title, code) => {
    const result = await run(code, { timeMs: 100 });
    expect(result).toMatchObject({ exit: 'killed', reason: { code: 'time' } });
    expect(result.reason?.message).toContain('longer than 100 ms');
    expect(result.usage.durationMs).toBeLessThan(2_000);
    await expectUnharmed();
  });

  it('of time hold for one long step of the engine, by the end of its thread', async () => {
    const code = 'const a = 3n ** (3n ** 12n); let b = a; for (;;) b = (b * a) % (a + 2n);';
    const result = await run(code, { timeMs: 50 });
    expect(result).toMatchObject({ exit: 'killed', reason: { code: 'time' } });
    await expectUnharmed();
  });

  const hungry: [title: string, code: string][] = [
    ['fills a list', 'const a = []; for (;;) a.push({ a })'],
    ['nests', 'let a = []; for (;;) a = [a, a]'],
    ['asks for one large piece', 'return new Uint8Array(1e9).length'],
    [
      'fills and catches',
      'const a = []; for (;;) try { for (;;) a.push({}) } catch (e) { throw e }',
    ],
  ];
  it.each(hungry)('of memory hold for code that %s', async (_title, code) => {
    const result = await run(code, { memoryBytes: 8 * megabyte, timeMs: 10_000 });
    expect(result).toMatchObject({ exit: 'killed', reason: { code: 'memory' } });
    expect(result.reason?.message).toContain(`${8 * megabyte} bytes of memory`);
    await expectUnharmed();
  });

  it('of memory hold for the input too', async () => {
    const input = 'x'.repeat(4 * megabyte);
    const result = await run('return input.length', { input, memoryBytes: megabyte });
    expect(result).toMatchObject({ exit: 'killed', reason: { code: 'memory' } });
  });

  const deep: [title: string, code: string][] = [
    ['calls itself', 'function f() { return f() + 1 }\nreturn f()'],
    ['nests data', 'let a = 0; for (let i = 0; i < 257; i++) a = { a }; return a'],
    ['parses nested data', 'return JSON.parse("[".repeat(1e5))'],
    ['nests source', 'return eval("(".repeat(1e5))'],
  ];
  it.each(deep)('of the stack hold for code that %s', async (_title, code) => {
    const result = await run(code);
    expect(result).toMatchObject({ exit: 'killed', reason: { code: 'stack' } });
    await expectUnharmed();
  });

  it('of the result hold, in bytes', async () => {
    const fits = await run('return "é".repeat(40)', { outputBytes: 82 });
    expect(fits).toMatchObject({ exit: 'exited', value: 'é'.repeat(40) });
    const over = await run('return "é".repeat(40)', { outputBytes: 81 });
    expect(over).toMatchObject({ exit: 'killed', reason: { code: 'output' } });
    expect(over.reason?.message).toContain('returned more than 81 bytes');
    expect(await run('return "x".repeat(5e6)')).toMatchObject({ reason: { code: 'output' } });
  });

  it('of what is printed hold while it is printed', async () => {
    const loop = await run('for (;;) console.log("hello €")', { outputBytes: 1_000 });
    expect(loop).toMatchObject({ exit: 'killed', reason: { code: 'output' } });
    expect(loop.stdoutTruncated).toBe(true);
    expect(Buffer.byteLength(loop.stdout)).toBeGreaterThan(990);
    expect(Buffer.byteLength(loop.stdout)).toBeLessThanOrEqual(1_000);
    expect(loop.stdout).not.toContain('\uFFFD');
    const once = await run('console.log("x".repeat(5e6)); return 1', { outputBytes: 1_000 });
    expect(once).toMatchObject({ exit: 'killed', reason: { code: 'output' } });
    expect(once.stdout).toBe('x'.repeat(1_000));
  });

  it('hold for a hundred megabytes printed in pieces', async () => {
    const code =
      'const s = "x".repeat(1e5); for (let i = 0; i < 1000; i++) console.log(s); return 1';
    const result = await run(code, { outputBytes: 1_000_000 });
    expect(result).toMatchObject({ exit: 'killed', reason: { code: 'output' } });
    expect(result.stdout.length).toBe(256 * 1024);
  });

  it('of the stack hold for the input, which harms no later run', async () => {
    for (const levels of [5_000, 50_000]) {
      const input = JSON.parse('['.repeat(levels) + ']'.repeat(levels));
      const result = await run('return input.length', { input });
      if (result.reason === undefined) expect(result.value).toBe(1);
      else expect(result.reason.code).toBe('stack');
    }
    await expectUnharmed();
    await expectUnharmed();
  });

  it('that are too small for anything are met like the others', async () => {
    const result = await run('return [input]', { input: 'x', memoryBytes: 1 });
    expect(result).toMatchObject({ exit: 'killed', reason: { code: 'memory' } });
  });
});

describe('cancelling', () => {
  it('stops code that runs', async () => {
    const cancel = new AbortController();
    const running = run('for (;;);', { signal: cancel.signal });
    setTimeout(() => cancel.abort(), 50);
    expect(await running).toMatchObject({ exit: 'killed', reason: { code: 'aborted' } });
    await expectUnharmed();
  });

  it('takes a run that still waits for a thread out of the row', async () => {
    const stop = new AbortController();
    const busy = [1, 2].map(() => run('for (;;);', { signal: stop.signal, timeMs: 20_000 }));
    const cancel = new AbortController();
    const waiting = run('return 1', { signal: cancel.signal });
    cancel.abort();
    expect(await waiting).toMatchObject({ exit: 'killed', reason: { code: 'aborted' } });
    stop.abort();
    await Promise.all(busy);
    await expectUnharmed();
  });

  it('before the start runs nothing', async () => {
    expect(await run('return 1', { signal: AbortSignal.abort() })).toMatchObject({
      exit: 'killed',
      reason: { code: 'aborted' },
    });
  });
});

describe('closing the runner', () => {
  it('ends what runs and what waits, and refuses what comes later', async () => {
    const other = createQuickJsRunner({ workers: 1, memoryBytesMax: 64 * megabyte });
    const signal = new AbortController().signal;
    const endlessRun = { code: 'for (;;);', input: null, signal, limits };
    await other.run({ ...endlessRun, code: 'return 1' });
    const running = [other.run(endlessRun), other.run(endlessRun)];
    await new Promise((resolve) => setTimeout(resolve, 50));
    await other.close();
    for (const result of [...(await Promise.all(running)), await other.run(endlessRun)]) {
      expect(result).toMatchObject({ exit: 'unknown', reason: { code: 'lost' } });
    }
  });
});
