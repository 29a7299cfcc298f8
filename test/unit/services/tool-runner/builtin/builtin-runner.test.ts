import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ToolDefinition } from '../../../../../schemas/definitions/tool.ts';
import type { ToolRunner } from '../../../../../services/chassis/effects/tool-port.ts';
import {
  builtinDefinitions,
  createBuiltinRunner,
} from '../../../../../services/tool-runner/builtin/builtin-runner.ts';
import { errorOf, resultOf, toolCall } from '../../../../support/tool-call.ts';

let directory: string;
let runner: ToolRunner;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'longrein-builtin-'));
  runner = createBuiltinRunner({ counterDirectory: join(directory, 'counters'), nowMs: Date.now });
});
afterEach(async () => {
  await runner.close();
  await rm(directory, { recursive: true });
});

function definition(name: string): ToolDefinition {
  const found = builtinDefinitions.find((candidate) => candidate.name === name);
  if (found === undefined) throw new Error(`no built-in tool ${name}`);
  return found;
}

describe('the built-in tools', () => {
  it('echo gives its arguments back', async () => {
    const call = toolCall({ a: [1, { b: null }] }, { definition: definition('echo') });
    expect(resultOf(await runner.run(call))).toEqual({ a: [1, { b: null }] });
  });

  it('clock.wait returns what it waited', async () => {
    const call = toolCall({ waitMs: 5 }, { definition: definition('clock.wait') });
    expect(resultOf(await runner.run(call))).toEqual({ waitedMs: 5 });
  });

  it('clock.wait ends early when its call is cancelled', async () => {
    const cancel = new AbortController();
    const changes = { definition: definition('clock.wait'), signal: cancel.signal };
    const running = runner.run(toolCall({ waitMs: 3_000_000 }, changes));
    cancel.abort();
    expect(errorOf(await running)).toMatchObject({ class: 'cancelled', retryable: false });
  });

  it('clock.wait ends at the deadline of its call', async () => {
    const changes = { definition: definition('clock.wait'), timeMs: 20 };
    const outcome = await runner.run(toolCall({ waitMs: 3_000_000 }, changes));
    expect(errorOf(outcome)).toMatchObject({ class: 'timeout', code: 'TOOL_DEADLINE' });
  });

  it('closing the runner ends what still waits', async () => {
    const call = toolCall({ waitMs: 3_000_000 }, { definition: definition('clock.wait') });
    const running = runner.run(call);
    await runner.close();
    expect(errorOf(await running).class).toBe('cancelled');
  });

  it('counter.increment adds one line for each call', async () => {
    const call = toolCall({ counter: 'visits' }, { definition: definition('counter.increment') });
    await runner.run(call);
    await runner.run({ ...call, callId: 'call-2' });
    const lines = await readFile(join(directory, 'counters', 'visits.log'), 'utf8');
    expect(lines).toBe('call-1\ncall-2\n');
  });

  it('counter.increment does nothing for a call that was cancelled before', async () => {
    const changes = { definition: definition('counter.increment'), signal: AbortSignal.abort() };
    const outcome = await runner.run(toolCall({ counter: 'visits' }, changes));
    expect(errorOf(outcome).class).toBe('cancelled');
    await expect(readFile(join(directory, 'counters', 'visits.log'))).rejects.toThrow('ENOENT');
  });

  it('counter.increment refuses a name that could leave its directory', async () => {
    const changes = { definition: definition('counter.increment') };
    for (const counter of ['../visits', 'a/b', '', '.hidden', 7]) {
      const error = errorOf(await runner.run(toolCall({ counter }, changes)));
      expect(error).toMatchObject({ class: 'invalid-arguments', retryable: false });
      expect(error.fix).toBeDefined();
    }
  });

  it('counter.increment says so when its directory cannot be written', async () => {
    await writeFile(join(directory, 'counters'), 'a file in its place');
    const call = toolCall({ counter: 'visits' }, { definition: definition('counter.increment') });
    expect(errorOf(await runner.run(call))).toMatchObject({ class: 'unavailable' });
  });

  it('arguments of the wrong shape are refused with the right one', async () => {
    const wait = { definition: definition('clock.wait') };
    for (const given of [{}, { waitMs: -1 }, { waitMs: 1.5 }, { waitMs: '5' }, [], null]) {
      const error = errorOf(await runner.run(toolCall(given, wait)));
      expect(error).toMatchObject({ class: 'invalid-arguments' });
    }
  });

  it('a definition with an unknown runner is told which there are', async () => {
    const changes = { definition: { runner: { kind: 'builtin', name: 'nope' } } } as const;
    const error = errorOf(await runner.run(toolCall({}, changes)));
    expect(error.class).toBe('not-found');
    expect(error.fix).toContain('echo, clock.wait, counter.increment');
  });
});
