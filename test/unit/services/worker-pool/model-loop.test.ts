import { beforeEach, describe, expect, test } from 'vitest';
import type { ModelAgent } from '../../../../schemas/definitions/agent.ts';
import { bodyOf, event, type SeenEvent, text } from '../../../../schemas/event.ts';
import { createWorkerPoolLogic } from '../../../../services/worker-pool/decide.ts';
import { BenchSession } from '../../../support/bench-session.ts';
import {
  answered,
  completed,
  eventsOf,
  failedCall,
  modelAgent,
  newest,
  openWork,
  type Said,
  schedule,
} from '../../../support/work-fixtures.ts';

let bench: BenchSession;

beforeEach(() => {
  bench = new BenchSession([{ logic: createWorkerPoolLogic('general') }]);
});

function begin(changes: Partial<ModelAgent> = {}): SeenEvent[] {
  openWork(bench, { agents: [modelAgent(changes)] });
  schedule(bench, 'writer');
  return bench.settle();
}

const asked = () => newest(bench.events, 'model.requested');
const messages = () => bodyOf(asked().content.messages);
const toolCalls = () => eventsOf(bench.events, 'tool.requested').map((one) => one.data.call);
const outcome = () => newest(bench.events, 'task.failed');

function say(said: Said): SeenEvent[] {
  bench.input(answered(asked().data.call, said));
  return bench.settle();
}

const read = (id: string) => ({ id, name: 'read', arguments: { path: `${id}.txt` } });

describe('the first request', () => {
  test('says system and prompt, the model by its alias, the tools, and the input', () => {
    const events = begin();
    expect(bench.typesOf(events).slice(-2)).toEqual(['agent.started', 'model.requested']);
    expect(asked().data).toMatchObject({
      ...{ agent: 'writer.1', step: 1, model: 'scripted/demo', tools: ['read', 'write'] },
      ...{ outputTokensMax: 500, timeoutMs: 30_000 },
    });
    expect(messages()).toEqual([
      { role: 'system', text: 'Be brief.' },
      { role: 'user', text: 'Sum up a.txt' },
    ]);
    expect(bodyOf(asked().content.input)).toEqual({ path: 'a.txt' });
  });

  test('takes a model that is no alias as it is, and leaves an empty system text out', () => {
    begin({ model: 'openai/x', system: '', prompt: { b: 1, a: '=input.path' } });
    expect(asked().data.model).toBe('openai/x');
    expect(messages()).toEqual([{ role: 'user', text: '{"a":"a.txt","b":1}' }]);
  });

  test('whose prompt cannot be made fails the task', () => {
    begin({ prompt: '=$error("no")' });
    expect(outcome().data).toMatchObject({ class: 'expression' });
  });
});

describe('an answer', () => {
  test('without calls is the output, and usage is summed', () => {
    begin();
    const events = say({ text: 'Short.' });
    const { output } = newest(events, 'task.completed').content;
    expect(output).toMatchObject({ mediaType: 'text/plain', body: 'Short.' });
    expect(newest(events, 'agent.completed').data).toEqual({
      ...{ agent: 'writer.1', steps: 1, modelCalls: 1, toolCalls: 0 },
      ...{ inputTokens: 10, outputTokens: 3, costNanoUsd: 700 },
    });
  });

  test.each(['{"a":[1]}', '```json\n{"a":[1]}\n```', ' {"a":[1]}\n'])('is JSON: %j', (said) => {
    begin({ output: 'json' });
    expect(bodyOf(newest(say({ text: said }), 'task.completed').content.output)).toEqual({
      a: [1],
    });
  });

  test('that is not JSON where it must be fails the task', () => {
    begin({ output: 'json' });
    say({ text: 'Sure! {' });
    expect(outcome().data).toMatchObject({ code: 'OUTPUT_NOT_JSON', class: 'invalid-output' });
  });

  test.each([
    ['length', 'ANSWER_CUT', 'limit'],
    ['content-filter', 'ANSWER_FILTERED', 'content-filter'],
  ] as const)('that ended by %s is no output', (finishReason, code, kind) => {
    begin();
    say({ text: 'Sh', finishReason });
    expect(outcome().data).toMatchObject({ code, class: kind, retryable: false });
  });

  test('that is not a message fails the task', () => {
    begin();
    const draft = answered(asked().data.call, {});
    bench.input({ ...draft, content: { message: text('what') } });
    bench.settle();
    expect(outcome().data).toMatchObject({ code: 'ANSWER_MALFORMED', class: 'provider-error' });
  });

  test('that comes again is ignored', () => {
    begin();
    say({ calls: [read('p1')] });
    bench.input(answered(asked().data.call, { text: 'Other.' }));
    expect(bench.settle()).toEqual([]);
  });
});

describe('tool calls of an answer', () => {
  test('are made together, each with an id of ours and that of the provider', () => {
    begin();
    const events = say({ calls: [read('p1'), read('p1')] });
    expect(bench.typesOf(events)).toEqual(['tool.requested', 'tool.requested']);
    expect(new Set(toolCalls()).size).toBe(2);
    expect(events[0]?.data).toMatchObject({ step: 1, tool: 'read', modelCallId: 'p1' });
  });

  test('are told in the order of the answer, once all have one', () => {
    begin();
    say({ calls: [read('p1'), read('p2')] });
    const [first, second] = toolCalls();
    bench.input(completed(second ?? '', 'two'));
    expect(bench.settle()).toEqual([]);
    bench.input(completed(first ?? '', 'one'));
    expect(bench.typesOf(bench.settle())).toEqual(['model.requested']);
    expect(asked().data.step).toBe(2);
    expect(asked().content).not.toHaveProperty('input');
    const told = { role: 'tool', toolName: 'read', isError: false };
    expect(messages()).toEqual([
      { ...told, toolCallId: 'p1', result: 'one' },
      { ...told, toolCallId: 'p2', result: 'two' },
    ]);
  });

  test('that failed or were denied are told as errors, and the model goes on', () => {
    begin();
    say({ calls: [read('p1'), { id: 'p2', name: 'raed', arguments: 'x' }] });
    const [first, second] = toolCalls();
    bench.input(failedCall(first ?? ''));
    const denied = {
      call: second ?? '',
      tool: 'raed',
      code: 'TOOL_UNKNOWN',
      check: 'known' as const,
    };
    bench.append([event('tool.denied', denied, { message: text('Use "read".') })], 'tool-guard');
    bench.settle();
    expect(messages()).toMatchObject([
      { isError: true, result: { error: 'TOOL_BROKE', message: 'It broke.' } },
      { isError: true, result: { error: 'TOOL_UNKNOWN', message: 'Use "read".' } },
    ]);
  });

  test('of which one may have happened fail the agent when all have ended', () => {
    begin();
    say({ calls: [read('p1'), read('p2')] });
    const [first, second] = toolCalls();
    const unknown = { call: first ?? '', tool: 'read', attempt: 1, because: 'deadline' as const };
    bench.append([event('tool.unknown', unknown, { message: text('Gone.') })], 'tool-runner');
    expect(bench.settle()).toEqual([]);
    bench.input(completed(second ?? '', 'two'));
    bench.settle();
    expect(outcome().data).toMatchObject({ class: 'unknown-outcome', retryable: false });
  });

  test('beyond the step limit are not made', () => {
    begin({ stepsMax: 1 });
    const events = say({ calls: [read('p1')] });
    expect(bench.typesOf(events)).toEqual(['agent.failed', 'task.failed', 'agent.cleaned-up']);
    expect(outcome().data).toMatchObject({ code: 'STEP_LIMIT', class: 'step-limit' });
  });

  test('that are too many for one answer are not made', () => {
    begin();
    say({ calls: Array.from({ length: 65 }, (_, index) => read(`p${index}`)) });
    expect(outcome().data).toMatchObject({ code: 'TOO_MANY_TOOL_CALLS', class: 'limit' });
  });

  test('with names that do not fit are left to the guard', () => {
    begin();
    const events = say({
      calls: ['', 'n'.repeat(300)].map((name) => ({ id: 'p', name, arguments: {} })),
    });
    expect(events.map((one) => one.data)).toMatchObject([
      { tool: '(no name)' },
      { tool: 'n'.repeat(128) },
    ]);
  });
});
