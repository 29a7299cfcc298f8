import { beforeEach, describe, expect, test } from 'vitest';
import type { AgentDefinition, ErrorPolicy } from '../../../../schemas/definitions/agent.ts';
import { type DataOf, event, json, type SeenEvent, textOf } from '../../../../schemas/event.ts';
import { contextOfCall } from '../../../../services/chassis/context/model-context.ts';
import { modelGatewayLogic, requestOf } from '../../../../services/model-gateway/decide.ts';
import { createWorkerPoolLogic } from '../../../../services/worker-pool/decide.ts';
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
  schedule,
} from '../../../support/work-fixtures.ts';

/** A further attempt of a task goes on from what is recorded of the one before. */

let bench: BenchSession;

beforeEach(() => {
  bench = new BenchSession([
    { logic: createWorkerPoolLogic('general') },
    { logic: modelGatewayLogic, facts: () => ({ facts: { providers: ['scripted'] } }) },
  ]);
});

const onError: ErrorPolicy = { attempts: 'resume', tools: 'tell', models: [] };
const steps = ['first', 'second', 'third'].map((id) => ({
  ...{ id, tool: 'write', arguments: { path: `${id}.txt` } },
}));
const worker = (changes: Partial<ErrorPolicy> = {}) =>
  procedure({ form: 2, onError: { ...onError, ...changes }, steps, output: '=steps' });
const writer = () => modelAgent({ form: 2, onError, modelAttemptsMax: 1 });

function begin(agent: AgentDefinition): void {
  openWork(bench, { agents: [agent] });
  schedule(bench, agent.name);
  bench.settle();
}

function again(agent: string, attempt: number): SeenEvent[] {
  schedule(bench, agent, { attempt });
  return bench.settle();
}

const calls = () => eventsOf(bench.events, 'tool.requested');
const lastCall = () => newest(bench.events, 'tool.requested').data.call;
const failure = () => newest(bench.events, 'task.failed');
const asked = () => newest(bench.events, 'model.requested');

type Effect = DataOf<'tool.permitted'>['effect'];

/** The guard lets the newest call through, and a runner claims it. */
function start(effect: Effect, call = lastCall()): void {
  const digest = '0'.repeat(64);
  const permitted = { call, tool: 'write', toolVersion: '1.0.0', toolDigest: digest, effect };
  const rest = { runner: 'builtin', risk: 'low', argumentsDigest: digest, timeoutMs: 1 } as const;
  bench.append([event('tool.permitted', { ...permitted, ...rest })], 'tool-guard');
  const claim = { call, tool: 'write', attempt: 1, deadlineAtMs: bench.nowMs + 1 };
  bench.append([event('tool.claimed', claim)], 'tool-runner');
}

function give(result: string, effect: Effect = 'at-most-once'): SeenEvent[] {
  start(effect);
  bench.input(completed(lastCall(), result));
  return bench.settle();
}

function timeOut(task: string, attempt = 1): SeenEvent[] {
  bench.append([event('task.timed-out', { task, attempt, deadlineAtMs: 1 })], 'supervisor');
  return bench.settle();
}

const stepsAsked = () => calls().map(({ data }) => `${data.attempt}:${data.step}`);

describe('a procedure', () => {
  test('whose step failed makes only that step again', () => {
    begin(worker());
    give('one');
    start('idempotent');
    bench.input(failedCall(lastCall()));
    bench.settle();
    expect(failure().data.retryable).toBe(true);
    const [created] = again('reader', 2);
    expect(created?.data).toMatchObject({ agent: 'reader.2', resumes: 'reader.1' });
    give('two');
    const events = give('three');
    expect(stepsAsked()).toEqual(['1:1', '1:2', '2:2', '2:3']);
    const { output } = newest(events, 'task.completed').content;
    expect(output.body).toEqual({ first: 'one', second: 'two', third: 'three' });
    expect(newest(events, 'agent.completed').data).toMatchObject({ toolCalls: 2 });
  });

  test('does not make a call again that must not be made twice', () => {
    begin(worker());
    give('one');
    start('at-most-once');
    bench.input(failedCall(lastCall()));
    bench.settle();
    expect(failure().data).toMatchObject({ code: 'TOOL_BROKE', retryable: false });
    expect(textOf(failure().content.message)).toContain('must not be made twice');
  });

  test('makes such a call again that was turned away because its tool does not work', () => {
    begin(worker());
    give('one');
    start('at-most-once');
    const suspended = { code: 'TOOL_SUSPENDED', class: 'unavailable' } as const;
    bench.input(failedCall(lastCall(), suspended));
    bench.settle();
    expect(failure().data).toMatchObject({ code: 'TOOL_SUSPENDED', retryable: true });
    again('reader', 2);
    expect(stepsAsked()).toEqual(['1:1', '1:2', '2:2']);
  });

  test('that ran out of time waits for what became of such a call, and uses it', () => {
    begin(worker());
    give('one');
    start('at-most-once');
    const call = lastCall();
    expect(bench.typesOf(timeOut('reader'))).toEqual(['agent.cancelled', 'agent.cleaned-up']);
    expect(again('reader', 2)).toEqual([]);
    bench.input(completed(call, 'two'));
    bench.settle();
    expect(stepsAsked()).toEqual(['1:1', '1:2', '2:3']);
    const events = give('three');
    expect(newest(events, 'task.completed').content.output.body).toMatchObject({ second: 'two' });
  });

  test('fails where nobody will ever know what became of it', () => {
    begin(worker());
    start('at-most-once');
    const call = lastCall();
    timeOut('reader');
    again('reader', 2);
    const unknown = { call, tool: 'write', attempt: 1, because: 'runner-gone' as const };
    bench.append(
      [event('tool.unknown', unknown, { message: json('Nobody saw it.') })],
      'tool-runner',
    );
    bench.settle();
    expect(failure().data).toMatchObject({
      attempt: 2,
      class: 'unknown-outcome',
      retryable: false,
    });
    expect(calls()).toHaveLength(1);
  });

  test('makes a call that nobody had started', () => {
    begin(worker());
    timeOut('reader');
    again('reader', 2);
    expect(stepsAsked()).toEqual(['1:1', '2:1']);
  });

  test('makes a call anew that was claimed and never run', () => {
    begin(worker());
    give('one');
    start('at-most-once');
    const call = lastCall();
    timeOut('reader');
    const notRun = { code: 'CALL_CANCELLED', class: 'cancelled' as const, retryable: false };
    bench.input(failedCall(call, notRun));
    again('reader', 2);
    expect(stepsAsked()).toEqual(['1:1', '1:2', '2:2']);
  });

  test('starts from its first step where its template says so', () => {
    begin(worker({ attempts: 'restart' }));
    give('one', 'idempotent');
    start('idempotent');
    bench.input(failedCall(lastCall()));
    bench.settle();
    again('reader', 2);
    expect(stepsAsked()).toEqual(['1:1', '1:2', '2:1']);
  });

  test('goes on over several attempts', () => {
    begin(worker());
    for (const attempt of [1, 2, 3]) {
      give(`result ${attempt}`);
      if (attempt === 3) break;
      timeOut('reader', attempt);
      again('reader', attempt + 1);
    }
    expect(stepsAsked()).toEqual(['1:1', '1:2', '2:2', '2:3', '3:3']);
    expect(eventsOf(bench.events, 'task.completed')).toHaveLength(1);
  });
});

const read = (id: string) => ({ id, name: 'write', arguments: { path: id } });

/** The gateway sends what the log shows. */
function sent() {
  const { call } = asked().data;
  const shown = contextOfCall(bench.events, call);
  expect(requestOf(bench.state('model-gateway'), call)?.messages).toEqual(shown?.messages);
  return shown?.messages ?? [];
}

describe('a model', () => {
  test('whose call failed for good is asked again, with all that was said', () => {
    begin(writer());
    bench.input(answered(newest(bench.events, 'model.claimed'), { calls: [read('a')] }));
    bench.settle();
    give('text of a');
    const before = sent();
    bench.input(failedModel(newest(bench.events, 'model.claimed')));
    bench.settle();
    expect(failure().data).toMatchObject({ code: 'OVERLOADED', retryable: true });
    again('writer', 2);
    expect(asked().data).toMatchObject({ agent: 'writer.2', step: 2, resumes: 'writer.1' });
    expect(sent()).toEqual(before);
    expect(calls()).toHaveLength(1);
    bench.input(answered(newest(bench.events, 'model.claimed'), { text: 'Done.' }));
    const events = bench.settle();
    expect(newest(events, 'task.completed').content.output.body).toBe('Done.');
    expect(newest(events, 'agent.completed').data).toMatchObject({ modelCalls: 1, toolCalls: 0 });
    expect(bench.state<{ conversations: object }>('model-gateway').conversations).toEqual({});
  });

  test('makes only those calls of its answer that have no result', () => {
    begin(writer());
    const wanted = { calls: [read('a'), read('b'), read('c')] };
    bench.input(answered(newest(bench.events, 'model.claimed'), wanted));
    bench.settle();
    const [a, b, c] = calls().map(({ data }) => data.call) as [string, string, string];
    for (const call of [a, b, c]) start('at-most-once', call);
    bench.input(completed(b, 'text of b'));
    timeOut('writer');
    expect(again('writer', 2)).toEqual([]);
    bench.input(failedCall(a, { code: 'CALL_CANCELLED', class: 'cancelled', retryable: false }));
    bench.settle();
    bench.input(completed(c, 'text of c'));
    bench.settle();
    expect(stepsAsked()).toEqual(['1:1', '1:1', '1:1', '2:1']);
    give('text of a');
    const results = sent().filter((one) => one.role === 'tool');
    expect(results.map((one) => [one.toolCallId, one.result])).toEqual([
      ...[
        ['a', 'text of a'],
        ['b', 'text of b'],
        ['c', 'text of c'],
      ],
    ]);
  });

  test('that answered too late is asked again, and its answer is not said to it', () => {
    begin(writer());
    bench.input(answered(newest(bench.events, 'model.claimed'), { calls: [read('a')] }));
    bench.settle();
    give('text of a');
    const late = newest(bench.events, 'model.claimed');
    const before = sent();
    timeOut('writer');
    bench.input(answered(late, { text: 'Late.' }));
    again('writer', 2);
    expect(sent()).toEqual(before);
  });

  test('that had said nothing yet starts anew', () => {
    begin(writer());
    bench.input(failedModel(newest(bench.events, 'model.claimed')));
    bench.settle();
    const [created] = again('writer', 2);
    expect(created?.data).not.toHaveProperty('resumes');
    expect(asked().data.step).toBe(1);
    expect(sent()).toHaveLength(2);
  });

  test('goes on over attempts that came to nothing', () => {
    begin(writer());
    bench.input(answered(newest(bench.events, 'model.claimed'), { calls: [read('a')] }));
    bench.settle();
    give('text of a');
    const before = sent();
    for (const attempt of [2, 3, 4]) {
      bench.input(failedModel(newest(bench.events, 'model.claimed')));
      bench.settle();
      again('writer', attempt);
      expect(sent()).toEqual(before);
    }
    expect(calls()).toHaveLength(1);
  });
});
