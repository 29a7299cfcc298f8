import { beforeEach, describe, expect, test } from 'vitest';
import type { ProcedureAgent } from '../../../../schemas/definitions/agent.ts';
import { bodyOf, event, text, textOf } from '../../../../schemas/event.ts';
import type { JsonValue } from '../../../../schemas/json.ts';
import { callId } from '../../../../services/chassis/protocol/ids.ts';
import { createWorkerPoolLogic, type PoolState } from '../../../../services/worker-pool/decide.ts';
import { BenchSession } from '../../../support/bench-session.ts';
import {
  completed,
  eventsOf,
  failedCall,
  newest,
  openWork,
  procedure,
  schedule,
} from '../../../support/work-fixtures.ts';

const service = 'worker-pool:general';
let bench: BenchSession;

beforeEach(() => {
  bench = new BenchSession([{ logic: createWorkerPoolLogic('general') }]);
});

function begin(changes: Partial<ProcedureAgent> = {}, input: JsonValue = { path: 'a.txt' }) {
  openWork(bench, { agents: [procedure(changes)] });
  schedule(bench, 'reader', { input });
  return bench.settle();
}

const asked = () => newest(bench.events, 'tool.requested');
const call = () => asked().data.call;

/** Answers the newest tool call. */
function give(result: JsonValue) {
  bench.input(completed(call(), result));
  return bench.settle();
}

const twoSteps: Partial<ProcedureAgent> = {
  steps: [
    { id: 'first', tool: 'read', arguments: { path: '=input.path' } },
    { id: 'second', tool: 'write', arguments: { path: 'b', text: '=steps.first.size' } },
  ],
  output: { size: '=steps.first.size', team: '=context.team', second: '=steps.second' },
};

describe('the first turn of an agent', () => {
  test('makes it, starts it, and asks for its first tool call', () => {
    const events = begin();
    expect(bench.typesOf(events)).toEqual([
      'agent.created',
      'agent.provisioned',
      'agent.started',
      'tool.requested',
    ]);
    expect(new Set(events.map((one) => one.record)).size).toBe(1);
    expect(events[0]?.data).toEqual({
      ...{ agent: 'reader.1', task: 'reader', attempt: 1, name: 'reader' },
      ...{ version: '1.0.0', kind: 'procedure', pool: 'general' },
    });
    expect(events[1]?.data).toEqual({ agent: 'reader.1', tools: ['read', 'write'] });
    expect(asked().data).toEqual({
      ...{ call: callId('ses_test', 'reader.1', 1), agent: 'reader.1', task: 'reader', attempt: 1 },
      ...{ step: 1, agentName: 'reader', tool: 'read' },
    });
    expect(bodyOf(asked().content.arguments)).toEqual({ path: 'a.txt' });
  });

  test('happens once for each attempt, and only in its own pool', () => {
    begin();
    schedule(bench, 'reader', { attempt: 1 });
    schedule(bench, 'other', { pool: 'elsewhere' });
    expect(bench.settle()).toEqual([]);
    schedule(bench, 'reader', { attempt: 2 });
    expect(bench.settle()[0]?.data).toMatchObject({ agent: 'reader.2', attempt: 2 });
  });

  test('is the last where no step is wanted', () => {
    const events = begin({ steps: [], output: { is: '=input.path' } });
    expect(bench.typesOf(events).slice(-3)).toEqual([
      'task.completed',
      'agent.completed',
      'agent.cleaned-up',
    ]);
    expect(bodyOf(newest(events, 'task.completed').content.output)).toEqual({ is: 'a.txt' });
  });

  test('of an agent that the plan does not pin fails its task with what to do', () => {
    openWork(bench, { agents: [procedure()] });
    schedule(bench, 'reader', { agent: 'stranger' });
    const [only, ...more] = bench.settle();
    expect(only?.data).toMatchObject({
      code: 'AGENT_UNKNOWN',
      class: 'not-found',
      retryable: false,
    });
    expect(more).toEqual([]);
  });
});

describe('a procedure', () => {
  test('goes from step to step with the results so far, then completes its task', () => {
    begin(twoSteps);
    expect(bench.typesOf(give({ size: 9 }))).toEqual(['tool.requested']);
    expect(asked().data).toMatchObject({ step: 2, tool: 'write' });
    expect(bodyOf(asked().content.arguments)).toEqual({ path: 'b', text: 9 });
    const events = give('written');
    expect(bench.typesOf(events)).toEqual([
      'task.completed',
      'agent.completed',
      'agent.cleaned-up',
    ]);
    expect(bodyOf(newest(events, 'task.completed').content.output)).toEqual({
      ...{ size: 9, team: 'blue', second: 'written' },
    });
    expect(newest(events, 'agent.completed').data).toEqual({
      ...{ agent: 'reader.1', steps: 2, modelCalls: 0, toolCalls: 2 },
      ...{ inputTokens: 0, outputTokens: 0, costNanoUsd: 0 },
    });
    expect(bench.state<PoolState>(service)).toMatchObject({ agents: {}, open: {} });
  });

  test('passes over steps whose condition is not true, and they give null', () => {
    const step = { id: 'first', tool: 'read', arguments: { path: 'x' } };
    begin({
      steps: [
        { ...step, when: 'input.deep' },
        { ...step, id: 'second', when: 'input.path = "a.txt"' },
        { ...step, id: 'third', when: '$exists(steps.first.a)' },
      ],
      output: '=[steps.first, steps.second, steps.third, $count($keys(steps))]',
    });
    expect(asked().data.step).toBe(2);
    const events = give(1);
    expect(bodyOf(newest(events, 'task.completed').content.output)).toEqual([null, 1, null, 3]);
  });

  test('makes two equal calls as two calls, each with its own answer', () => {
    const step = { tool: 'read', arguments: { path: 'same' } };
    begin({
      steps: [
        { id: 'a', ...step },
        { id: 'b', ...step },
      ],
      output: '=steps',
    });
    const first = call();
    give(1);
    expect(call()).not.toBe(first);
    const digests = eventsOf(bench.events, 'tool.requested').map(
      (one) => one.content.arguments.digest,
    );
    expect(digests[0]).toBe(digests[1]);
    const events = give(2);
    expect(bodyOf(newest(events, 'task.completed').content.output)).toEqual({ a: 1, b: 2 });
  });

  test('ignores an answer that comes again or late', () => {
    begin(twoSteps);
    const first = call();
    give({ size: 1 });
    bench.input(completed(first, { size: 2 }));
    bench.input(failedCall(first));
    expect(bench.settle()).toEqual([]);
    give('written');
    bench.input(completed(call(), 'again'));
    expect(bench.settle()).toEqual([]);
    expect(bodyOf(newest(bench.events, 'task.completed').content.output)).toMatchObject({
      size: 1,
    });
  });
});

describe('a step that does not work', () => {
  test('fails the agent and the task as the tool said', () => {
    begin();
    bench.input(failedCall(call(), { code: 'DISK_FULL', class: 'limit', retryable: false }));
    const events = bench.settle();
    expect(bench.typesOf(events)).toEqual(['agent.failed', 'task.failed', 'agent.cleaned-up']);
    expect(newest(events, 'agent.failed').data).toMatchObject({ code: 'DISK_FULL', toolCalls: 1 });
    expect(newest(events, 'task.failed').data).toEqual({
      ...{ task: 'reader', attempt: 1, agent: 'reader.1' },
      ...{ code: 'DISK_FULL', class: 'limit', retryable: false },
    });
    const said = textOf(newest(events, 'task.failed').content.message);
    expect(said).toBe('Step "first" (read): It broke.');
  });

  test('because it was denied is not worth another attempt', () => {
    begin();
    const denied = { call: call(), tool: 'read', code: 'ARGUMENTS_INVALID', check: 'arguments' };
    const content = { message: text('/path is missing') };
    bench.append([event('tool.denied', { ...denied, check: 'arguments' }, content)], 'tool-guard');
    bench.settle();
    expect(newest(bench.events, 'task.failed').data).toMatchObject({
      ...{ code: 'ARGUMENTS_INVALID', class: 'denied', retryable: false },
    });
  });

  test('and may have happened is not tried again; its answer that comes after all is ignored', () => {
    begin();
    const unknown = { call: call(), tool: 'read', attempt: 1, because: 'runner-gone' as const };
    bench.append([event('tool.unknown', unknown, { message: text('Gone.') })], 'tool-runner');
    bench.settle();
    expect(newest(bench.events, 'task.failed').data).toMatchObject({
      ...{ code: 'OUTCOME_UNKNOWN', class: 'unknown-outcome', retryable: false },
    });
    bench.input(completed(call(), 'after all'));
    expect(bench.settle()).toEqual([]);
  });

  test.each([
    { steps: [{ id: 'a', tool: 'read', arguments: '=$error("no")' }] },
    { steps: [{ id: 'a', tool: 'read', arguments: {}, when: '$error("no")' }] },
    { steps: [{ id: 'a', tool: 'read', arguments: '=(' }] },
    { steps: [], output: '=1 + "a"' },
  ])('because of an expression fails the task: %j', (changes) => {
    begin(changes);
    const failed = newest(bench.events, 'task.failed');
    expect(failed.data).toMatchObject({ class: 'expression', retryable: false });
    expect(textOf(failed.content.message)).toContain('agent reader');
    expect(bench.settle()).toEqual([]);
  });
});

describe('the end of what an agent works for', () => {
  const cancelled = ['agent.cancelled', 'agent.cleaned-up'];

  test.each([
    event('session.failed', { code: 'X' }, { message: text('x') }),
    event('session.cancelled', { requestedBy: 'user:ada' }),
    event(
      'session.completed',
      { completed: 0, failed: 0, skipped: 0, contradictions: 0 },
      {
        output: text(''),
      },
    ),
  ])('stops it for the session: $type', (draft) => {
    begin();
    bench.append([draft], 'supervisor');
    const events = bench.settle();
    expect(bench.typesOf(events)).toEqual(cancelled);
    expect(events[0]?.data).toEqual({ agent: 'reader.1', because: 'session-ended' });
    bench.input(completed(call(), 'late'));
    schedule(bench, 'reader', { attempt: 2 });
    expect(bench.settle()).toEqual([]);
  });

  test.each([
    event('task.timed-out', { task: 'reader', attempt: 1, deadlineAtMs: 1 }),
    event('task.cancelled', { task: 'reader', attempt: 1 }),
    event(
      'task.abandoned',
      { task: 'reader', attempts: 1, code: 'X', class: 'timeout' },
      {
        message: text('x'),
      },
    ),
  ])('stops it for the attempt: $type', (draft) => {
    begin();
    bench.append([draft], 'supervisor');
    const events = bench.settle();
    expect(bench.typesOf(events)).toEqual(cancelled);
    expect(events[0]?.data).toEqual({ agent: 'reader.1', because: 'task-ended' });
    schedule(bench, 'reader', { attempt: 2 });
    expect(bench.settle()[0]?.data).toMatchObject({ agent: 'reader.2' });
  });

  test('leaves agents of other tasks alone', () => {
    openWork(bench, { agents: [procedure(), procedure({ name: 'other' })] });
    schedule(bench, 'reader');
    schedule(bench, 'other');
    bench.settle();
    bench.append([event('task.cancelled', { task: 'reader', attempt: 1 })], 'supervisor');
    expect(bench.settle().map((one) => one.data)).toMatchObject([
      { agent: 'reader.1' },
      { agent: 'reader.1' },
    ]);
  });

  test('before it began makes no agent', () => {
    openWork(bench, { agents: [procedure()] });
    schedule(bench, 'reader');
    bench.append([event('session.cancelled', { requestedBy: 'user:ada' })], 'supervisor');
    expect(bench.settle()).toEqual([]);
  });

  test('stops an agent whose first turn was on its way', () => {
    openWork(bench, { agents: [procedure()] });
    schedule(bench, 'reader');
    const first = bench.propose(service);
    bench.append([event('session.cancelled', { requestedBy: 'user:ada' })], 'supervisor');
    bench.append(first, service);
    expect(bench.typesOf(bench.settle())).toEqual(cancelled);
  });
});
