import { beforeEach, describe, expect, test } from 'vitest';
import type { ContextPolicy, ModelAgent } from '../../../../schemas/definitions/agent.ts';
import { bodyOf, event, type SeenEvent, text, textOf } from '../../../../schemas/event.ts';
import { hashOf } from '../../../../services/chassis/protocol/hash.ts';
import { createWorkerPoolLogic } from '../../../../services/worker-pool/decide.ts';
import type { AgentEntry, PoolState } from '../../../../services/worker-pool/state.ts';
import { BenchSession } from '../../../support/bench-session.ts';
import {
  answered,
  completed,
  eventsOf,
  failedCall,
  failedModel,
  modelAgent,
  newest,
  openWork,
  procedure,
  type Said,
  schedule,
} from '../../../support/work-fixtures.ts';

/** What agents of form 2 do that older ones did not. */

let bench: BenchSession;

beforeEach(() => {
  bench = new BenchSession([{ logic: createWorkerPoolLogic('general') }]);
});

const current = (changes: Partial<ModelAgent> = {}): ModelAgent =>
  modelAgent({
    ...{ form: 2, repairsMax: 1, repeatsMax: 3, refusedStepsMax: 2 },
    onError: { attempts: 'resume', tools: 'tell', models: [] },
    ...changes,
  });

function begin(changes: Partial<ModelAgent> = {}): SeenEvent[] {
  const models = { small: 'scripted/demo', large: 'scripted/large', brief: 'scripted/brief' };
  openWork(bench, { agents: [current(changes)], models });
  schedule(bench, 'writer');
  return bench.settle();
}

const asked = () => newest(bench.events, 'model.requested');
const messages = () => bodyOf(asked().content.messages);
const failure = () => newest(bench.events, 'task.failed');
const why = () => textOf(failure().content.message);

function say(said: Said): SeenEvent[] {
  bench.input(answered(asked().data.call, said));
  return bench.settle();
}

const read = (id: string, path = 'a.txt') => ({ id, name: 'read', arguments: { path } });
const lastCall = () => newest(bench.events, 'tool.requested').data.call;

function give(result: string): SeenEvent[] {
  bench.input(completed(lastCall(), result));
  return bench.settle();
}

test('an agent says which template it was made from', () => {
  const events = begin({ goal: 'Find the oldest file.' });
  expect(newest(events, 'agent.created').data.digest).toBe(
    hashOf(current({ goal: 'Find the oldest file.' })),
  );
  expect(messages()).toEqual([
    { role: 'system', text: 'Be brief.\n\nYour goal: Find the oldest file.' },
    { role: 'user', text: 'Sum up a.txt' },
  ]);
});

describe('an output that misses its schema', () => {
  const outputSchema = {
    type: 'object',
    properties: { size: { type: 'integer' } },
    required: ['size'],
  };
  const rules = { output: 'json' as const, outputSchema };

  test('is shown to the model in the system text, and is the output where it fits', () => {
    begin(rules);
    expect(JSON.stringify(messages())).toContain('valid against this JSON Schema');
    const events = say({ text: '{"size": 3}' });
    expect(bodyOf(newest(events, 'task.completed').content.output)).toEqual({ size: 3 });
  });

  test('is asked for once more, with what is wrong', () => {
    begin(rules);
    say({ text: '{"size": "big"}' });
    expect(asked().data).toMatchObject({ step: 2, repair: 1 });
    const wrong = 'Your answer does not fit its schema: /size must be integer. ';
    const again = 'Answer once more, with the whole corrected JSON and nothing else.';
    expect(messages()).toEqual([{ role: 'user', text: wrong + again }]);
    const events = say({ text: '{"size": 4}' });
    expect(bodyOf(newest(events, 'task.completed').content.output)).toEqual({ size: 4 });
  });

  test('for ever ends the task, which says what it has cost', () => {
    begin(rules);
    say({ text: 'Big!' });
    say({ text: 'Really big!' });
    expect(failure().data).toMatchObject({ code: 'OUTPUT_NOT_JSON', retryable: false });
    expect(why()).toContain('is not JSON, also after 1 more.');
    expect(why()).toContain('So far: 2 model calls, 26 tokens, $0.0000014.');
    expect(bench.settle()).toEqual([]);
  });

  test('is asked for again where the call for it fails, and counts as one repair', () => {
    begin({ ...rules, modelAttemptsMax: 2 });
    say({ text: 'Big!' });
    const first = messages();
    bench.input(failedModel(asked().data.call));
    bench.settle();
    const { record, index, data } = newest(bench.events, 'timer.set');
    bench.input(event('timer.fired', { ...data, record, index }));
    bench.settle();
    expect(asked().data.step).toBe(2);
    expect(messages()).toEqual(first);
    say({ text: 'Huge!' });
    expect(failure().data.code).toBe('OUTPUT_NOT_JSON');
  });
});

describe('a loop', () => {
  test('that gets the same answer to the same call is stopped', () => {
    begin();
    for (const id of ['a', 'b', 'c']) {
      say({ calls: [read(id)] });
      give('the same');
    }
    expect(failure().data).toMatchObject({ code: 'LOOP_DETECTED', class: 'step-limit' });
    expect(why()).toContain('the same call of "read" 3 times');
    expect(why()).toContain('3 model calls');
  });

  test('whose answers or arguments differ goes on', () => {
    begin({ stepsMax: 9 });
    for (const id of ['a', 'b', 'c', 'd']) {
      say({ calls: [read(id)] });
      give(`answer ${id}`);
    }
    for (const id of ['e', 'f']) {
      say({ calls: [read(id, `${id}.txt`)] });
      give('the same');
    }
    expect(eventsOf(bench.events, 'task.failed')).toEqual([]);
  });

  test('of thousands of different calls is remembered as far as it has to be', () => {
    begin({ stepsMax: 5_000 });
    for (let step = 0; step < 1_100; step++) {
      say({ calls: [read(`call-${step}`, `${step}.txt`)] });
      give('the same');
    }
    const [agent] = Object.values(bench.state<PoolState>('worker-pool:general').agents);
    const { repeats = {}, repeatsBefore = {} } = agent as AgentEntry;
    expect(Object.keys({ ...repeats, ...repeatsBefore }).length).toBeLessThan(1_100);
    for (const id of ['again', 'and again']) {
      say({ calls: [read(id, '900.txt')] });
      give('the same');
    }
    expect(failure().data).toMatchObject({ code: 'LOOP_DETECTED' });
  });

  test('of nothing but refused calls is stopped', () => {
    begin();
    for (const id of ['a', 'b']) {
      say({ calls: [read(id, id)] });
      const denied = {
        call: lastCall(),
        tool: 'read',
        code: 'TOOL_UNKNOWN',
        check: 'known' as const,
      };
      bench.append(
        [event('tool.denied', denied, { message: text('No such tool.') })],
        'tool-guard',
      );
      bench.settle();
    }
    expect(failure().data).toMatchObject({ code: 'CALLS_REFUSED', class: 'invalid-arguments' });
    expect(why()).toContain('No such tool.');
  });

  test.each([
    [{ tokensMax: 26 }, 'TOKEN_LIMIT'],
    [{ costNanoUsdMax: 1_400 }, 'COST_LIMIT'],
  ] as const)('within %o ends after the call that passes it', (limits, code) => {
    begin(limits);
    say({ calls: [read('a')] });
    give('one');
    say({ calls: [read('b')] });
    give('two');
    expect(failure().data).toMatchObject({ code, retryable: false });
  });
});

describe('errors', () => {
  test('of a tool end the agent where its policy says so', () => {
    begin({ onError: { attempts: 'resume', tools: 'fail', models: [] } });
    say({ calls: [read('a')] });
    bench.input(failedCall(lastCall()));
    bench.settle();
    expect(failure().data).toMatchObject({ code: 'TOOL_BROKE', retryable: true });
  });

  test('of a model for good hand the step to the next model', () => {
    begin({ onError: { attempts: 'resume', tools: 'tell', models: ['large'] } });
    say({ calls: [read('a')] });
    give('text');
    const refused = { code: 'BAD', class: 'invalid-request' as const, retryable: false };
    bench.input(failedModel(asked().data.call, refused));
    bench.settle();
    expect(asked().data).toMatchObject({ step: 2, model: 'scripted/large', fallback: 1 });
    expect(eventsOf(bench.events, 'tool.requested')).toHaveLength(1);
    say({ calls: [read('b', 'b.txt')] });
    give('more');
    expect(asked().data).toMatchObject({ step: 3, model: 'scripted/large', fallback: 1 });
    bench.input(failedModel(asked().data.call, refused));
    bench.settle();
    expect(failure().data).toMatchObject({ code: 'BAD' });
  });
});

describe('a wall time', () => {
  test('that is over ends the agent while it waits, and its timers', () => {
    begin({ wallTimeMs: 5_000 });
    const { record, index, data } = newest(bench.events, 'timer.set');
    expect(data.dueAtMs).toBe(bench.nowMs + 5_000);
    bench.input(event('timer.fired', { ...data, record, index }));
    expect(bench.typesOf(bench.settle())).toEqual([
      ...['agent.failed', 'task.failed', 'agent.cleaned-up'],
    ]);
    expect(failure().data).toMatchObject({ code: 'WALL_TIME', class: 'timeout', retryable: true });
    expect(bench.settle()).toEqual([]);
  });

  test('that is not over is taken back with the end', () => {
    begin({ wallTimeMs: 5_000 });
    expect(bench.typesOf(say({ text: 'Done.' }))).toContain('timer.cancelled');
  });

  test('holds for a procedure too', () => {
    openWork(bench, { agents: [procedure({ form: 2, wallTimeMs: 100 })] });
    schedule(bench, 'reader');
    bench.settle();
    const { record, index, data } = newest(bench.events, 'timer.set');
    bench.input(event('timer.fired', { ...data, record, index }));
    bench.settle();
    expect(failure().data.code).toBe('WALL_TIME');
  });
});

describe('a context policy', () => {
  const context = (changes: Partial<ContextPolicy> = {}): ContextPolicy => ({
    ...{ tokensMax: 280, overflow: 'omit', keepSteps: 1, pin: [] },
    summary: { model: 'brief', instructions: 'Sum up.', outputTokensMax: 60 },
    ...changes,
  });

  /** Each step brings about 140 tokens; nobody counts them. */
  function steps(count: number): void {
    for (let made = 0; made < count; made++) {
      const { step, call } = asked().data;
      const draft = answered(call, { calls: [read(`${step}`, `${step}.txt`)] });
      bench.input({ ...draft, data: { ...draft.data, inputTokens: 0, outputTokens: 20 } });
      bench.settle();
      give('x'.repeat(230));
    }
  }

  test('leaves the oldest steps out and says so', () => {
    begin({ context: context(), stepsMax: 20 });
    steps(1);
    expect(asked().data.omit).toBeUndefined();
    expect(asked().data.contextTokens).toBeLessThanOrEqual(280);
    steps(1);
    expect(asked().data.omit).toEqual([1]);
    steps(1);
    expect(asked().data.omit).toEqual([2]);
    expect(textOf(asked().content.note)).toContain('2 steps of this conversation were left out');
    expect(asked().data.contextTokens).toBeLessThanOrEqual(280);
  });

  test('asks another model for a summary first', () => {
    begin({ context: context({ overflow: 'summarise' }), stepsMax: 20 });
    steps(2);
    expect(asked().data).toMatchObject({
      ...{ model: 'scripted/brief', tools: [], outputTokensMax: 60, step: 3 },
    });
    const { summarises } = asked().data;
    expect(messages()).toEqual([{ role: 'system', text: 'Sum up.' }]);
    say({ text: ' Three files were read. ' });
    expect(asked().data).toMatchObject({ model: 'scripted/demo', omit: summarises, step: 3 });
    expect(textOf(asked().content.note)).toMatch(/^Summary of .*:\nThree files were read\.$/);
    const events = say({ text: 'Done.' });
    expect(newest(events, 'agent.completed').data).toMatchObject({ modelCalls: 4, steps: 3 });
  });

  test('leaves out what cannot be summed up', () => {
    begin({ context: context({ overflow: 'summarise' }), stepsMax: 20 });
    steps(2);
    const { summarises } = asked().data;
    bench.input(failedModel(asked().data.call));
    bench.settle();
    expect(asked().data).toMatchObject({ omit: summarises, step: 3 });
    expect(textOf(asked().content.note)).toContain('were left out');
  });

  test('ends an agent whose newest step alone is too long', () => {
    begin({ context: context() });
    say({ calls: [read('a')] });
    give('x'.repeat(3_000));
    expect(failure().data).toMatchObject({ code: 'CONTEXT_LIMIT', class: 'context-too-long' });
    expect(why()).toContain('context.tokensMax');
  });
});
