import { beforeEach, describe, expect, test } from 'vitest';
import type { ToolDefinition } from '../../../../schemas/definitions/tool.ts';
import { event, text, textOf } from '../../../../schemas/event.ts';
import type { JsonValue } from '../../../../schemas/json.ts';
import { hashOf } from '../../../../services/chassis/protocol/hash.ts';
import { toolGuardLogic } from '../../../../services/tool-guard/decide.ts';
import { BenchSession } from '../../../support/bench-session.ts';
import {
  newest,
  openWork,
  procedure,
  tool,
  toolRequested,
  tools,
  type WorkPlan,
} from '../../../support/work-fixtures.ts';

let bench: BenchSession;

beforeEach(() => {
  bench = new BenchSession([{ logic: toolGuardLogic }]);
});

type Asked = { tool?: string; arguments?: JsonValue; agentName?: string };

/** What the guard answers to one call of `reader`. */
function ask(
  plan: Partial<WorkPlan>,
  asked: Asked = {},
): { type: string; data: object; message: string } {
  openWork(bench, { agents: [procedure()], ...plan });
  bench.append([toolRequested('call_1', asked)], 'worker-pool:general');
  return answer();
}

function answer() {
  const [only, ...more] = bench.settle();
  expect(more).toEqual([]);
  if (only === undefined) throw new Error('the guard said nothing');
  const message = 'message' in only.content ? textOf(only.content.message) : '';
  return { type: only.type, data: only.data, message };
}

const withTool = (changes: Partial<ToolDefinition>): Partial<WorkPlan> => ({
  tools: [tool('read', changes)],
});

describe('a permit', () => {
  test('pins the tool and the arguments by digest and says how the call may be repeated', () => {
    const { type, data } = ask({});
    const { digest } = newest(bench.events, 'tool.requested').content.arguments;
    expect(type).toBe('tool.permitted');
    expect(data).toEqual({
      call: 'call_1',
      tool: 'read',
      toolVersion: '1.0.0',
      toolDigest: hashOf(tools.read),
      runner: 'builtin',
      effect: 'read-only',
      risk: 'low',
      argumentsDigest: digest,
      timeoutMs: 5_000,
    });
  });

  test.each([
    ['none', false, 'read-only'],
    ['read', false, 'read-only'],
    ['write', true, 'idempotent'],
    ['write', false, 'at-most-once'],
    ['destructive', false, 'at-most-once'],
    ['destructive', true, 'idempotent'],
  ] as const)(
    'of a tool with side effects %s, idempotent %s, is %s',
    (sideEffects, idempotent, effect) => {
      expect(ask(withTool({ sideEffects, idempotent })).data).toMatchObject({ effect });
    },
  );

  test('is given once: two equal calls are two permits, each once', () => {
    ask({});
    bench.append([toolRequested('call_2')], 'worker-pool:general');
    expect(answer()).toMatchObject({ type: 'tool.permitted', data: { call: 'call_2' } });
    expect(bench.propose('tool-guard')).toEqual([]);
  });
});

describe('a denial', () => {
  test('of a tool that is not in the session names those that are alike', () => {
    const denied = ask({}, { tool: 'raed' });
    expect(denied.data).toEqual({
      call: 'call_1',
      tool: 'raed',
      code: 'TOOL_UNKNOWN',
      check: 'known',
    });
    expect(denied.message).toContain('Use "read"');
  });

  test.each(['constructor', '__proto__', 'toString'])('does not take %s for a tool', (name) => {
    expect(ask({}, { tool: name }).data).toMatchObject({ code: 'TOOL_UNKNOWN' });
  });

  test('of an unknown tool lists all of the agent where none is alike', () => {
    expect(ask({}, { tool: 'zzzzzzzz' }).message).toContain('Use one of "read", "write"');
  });

  test('of a tool that the agent does not list', () => {
    const { data, message } = ask({}, { tool: 'run', arguments: { path: 'a' } });
    expect(data).toMatchObject({ code: 'TOOL_NOT_LISTED', check: 'role' });
    expect(message).toContain('"reader" does not list the tool "run"');
  });

  test('of a tool for other roles names them', () => {
    const { data, message } = ask(withTool({ roles: ['admin'] }));
    expect(data).toMatchObject({ code: 'ROLE_NOT_ALLOWED', check: 'role' });
    expect(message).toContain('"admin"');
  });

  test('of an agent that the plan does not pin', () => {
    expect(ask({}, { agentName: 'stranger' }).data).toMatchObject({ code: 'TOOL_NOT_LISTED' });
  });

  test.each([
    ['critical', undefined, 'tool.denied'],
    ['high', undefined, 'tool.permitted'],
    ['medium', 'low', 'tool.denied'],
    ['critical', 'critical', 'tool.permitted'],
  ] as const)('of risk %s in a session that allows %s: %s', (risk, riskMax, expected) => {
    const plan = riskMax === undefined ? withTool({ risk }) : { ...withTool({ risk }), riskMax };
    expect(ask(plan).type).toBe(expected);
  });

  test('of arguments over the limit says both figures', () => {
    const { data, message } = ask({}, { arguments: { path: 'x'.repeat(1_000) } });
    expect(data).toMatchObject({ code: 'ARGUMENTS_TOO_LARGE', check: 'size' });
    expect(message).toContain('1011 bytes');
    expect(message).toContain('the limit is 1000');
  });

  test('of arguments at the limit is not made', () => {
    expect(ask({}, { arguments: { path: 'x'.repeat(989) } }).type).toBe('tool.permitted');
  });

  test('of a missing argument points at it and says what the tool takes', () => {
    const { data, message } = ask({}, { arguments: { lines: 2 } });
    expect(data).toMatchObject({ code: 'ARGUMENTS_INVALID', check: 'arguments' });
    expect(message).toContain('/path is missing');
    expect(message).toContain('"read" takes lines (integer); path (string, required).');
  });

  test('of wrong arguments points at each', () => {
    const { message } = ask({}, { arguments: { path: 1, lines: 0, 'a/b': true } });
    expect(message).toContain('/path must be string');
    expect(message).toContain('/lines must be >= 1');
    expect(message).toContain('/a~1b is not known');
  });

  test('of arguments that are not an object, as a model may write them', () => {
    expect(ask({}, { arguments: 'path: a.txt' }).message).toContain('the arguments must be object');
  });

  test.each([
    { type: 'nonsense' },
    { type: 'object', properties: { a: { kind: 'x' } } },
    { type: 'string', pattern: '(' },
    { $ref: '#/nowhere' },
    { $async: true, type: 'object' },
  ])('of a tool whose schema cannot be used: %j', (inputSchema) => {
    const { data, message } = ask(withTool({ inputSchema }));
    expect(data).toMatchObject({ code: 'TOOL_SCHEMA_INVALID', check: 'arguments' });
    expect(message).toContain('The input schema of "read" is not valid');
  });

  test('after the end of the session comes before every other check', () => {
    openWork(bench, { agents: [procedure()] });
    bench.append([toolRequested('call_1', { tool: 'nothing' })], 'worker-pool:general');
    const failed = event('session.failed', { code: 'X' }, { message: text('x') });
    bench.append([failed], 'supervisor');
    expect(answer().data).toMatchObject({ code: 'SESSION_ENDED', check: 'ended' });
  });

  test('after the end of the task leaves later attempts alone', () => {
    openWork(bench, { agents: [procedure()] });
    const stopped = event('task.timed-out', { task: 'reader', attempt: 1, deadlineAtMs: 1 });
    bench.append([stopped], 'supervisor');
    bench.append([toolRequested('call_1')], 'worker-pool:general');
    expect(answer().data).toMatchObject({ code: 'TASK_ENDED', check: 'ended' });
    bench.append([toolRequested('call_2', { attempt: 2 })], 'worker-pool:general');
    expect(answer().type).toBe('tool.permitted');
  });
});

test('two schemas with the same $id do not meet', () => {
  const schema = {
    $id: 'urn:example:arguments',
    type: 'object',
    properties: { path: { type: 'string' } },
  };
  expect(ask(withTool({ inputSchema: schema })).type).toBe('tool.permitted');
  bench = new BenchSession([{ logic: toolGuardLogic }]);
  const other = { ...schema, properties: { path: { type: 'integer' } } };
  expect(ask(withTool({ inputSchema: other })).type).toBe('tool.denied');
});

test('the order of members in a schema does not change the answer', () => {
  const said = [
    {
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'string' } },
      required: ['a'],
    },
    {
      required: ['a'],
      properties: { b: { type: 'string' }, a: { type: 'string' } },
      type: 'object',
    },
  ].map((inputSchema) => {
    bench = new BenchSession([{ logic: toolGuardLogic }]);
    return ask(withTool({ inputSchema }), { arguments: { b: 1 } }).message;
  });
  expect(said[0]).toBe(said[1]);
});
