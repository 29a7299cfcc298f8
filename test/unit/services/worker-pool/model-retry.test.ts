import { beforeEach, describe, expect, test } from 'vitest';
import type { ModelAgent } from '../../../../schemas/definitions/agent.ts';
import { bodyOf, event, type SeenEvent, text, textOf } from '../../../../schemas/event.ts';
import { backOffMs } from '../../../../services/chassis/effects/back-off.ts';
import { createWorkerPoolLogic } from '../../../../services/worker-pool/decide.ts';
import { BenchSession } from '../../../support/bench-session.ts';
import {
  answered,
  completed,
  eventsOf,
  failedModel,
  modelAgent,
  newest,
  openWork,
  type Said,
  schedule,
} from '../../../support/work-fixtures.ts';

const service = 'worker-pool:general';
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

function breakModel(changes: Parameters<typeof failedModel>[1] = {}): SeenEvent[] {
  bench.input(failedModel(asked().data.call, changes));
  return bench.settle();
}

function fireTimer(): SeenEvent[] {
  const { record, index, data } = newest(bench.events, 'timer.set');
  bench.input(event('timer.fired', { ...data, record, index }));
  return bench.settle();
}

const read = (id: string) => ({ id, name: 'read', arguments: { path: `${id}.txt` } });

describe('a failed model call', () => {
  test('is made again after a wait, with the same words and a new id', () => {
    begin();
    const before = { call: asked().data.call, said: messages() };
    expect(bench.typesOf(breakModel())).toEqual(['timer.set']);
    const { timer, dueAtMs } = newest(bench.events, 'timer.set').data;
    expect(timer).toBe('worker-pool/writer.1/1');
    expect(dueAtMs - bench.nowMs).toBeGreaterThanOrEqual(250);
    expect(dueAtMs - bench.nowMs).toBeLessThanOrEqual(500);
    expect(bench.typesOf(fireTimer())).toEqual(['model.requested']);
    expect(asked().data.call).not.toBe(before.call);
    expect(asked().data.step).toBe(1);
    expect(messages()).toEqual(before.said);
  });

  test('after a recorded tool result does not ask for the tool again', () => {
    begin();
    say({ calls: [read('p1')] });
    bench.input(completed(toolCalls()[0] ?? '', 'one'));
    bench.settle();
    const said = messages();
    breakModel();
    fireTimer();
    expect(messages()).toEqual(said);
    expect(asked().data.step).toBe(2);
    expect(toolCalls()).toHaveLength(1);
    expect(newest(say({ text: 'Done.' }), 'agent.completed').data).toMatchObject({
      ...{ steps: 2, modelCalls: 3, toolCalls: 1, costNanoUsd: 2_100 },
    });
  });

  test('waits as long as the provider asks', () => {
    begin();
    breakModel({ retryAfterMs: 12_345 });
    expect(newest(bench.events, 'timer.set').data.dueAtMs).toBe(bench.nowMs + 12_345);
  });

  test('fails the agent when its attempts are used up, and they count for each step anew', () => {
    begin({ modelAttemptsMax: 2 });
    breakModel();
    fireTimer();
    say({ calls: [read('p1')] });
    bench.input(completed(toolCalls()[0] ?? '', 'one'));
    bench.settle();
    breakModel();
    fireTimer();
    expect(bench.typesOf(breakModel())).toEqual([
      'agent.failed',
      'task.failed',
      'agent.cleaned-up',
    ]);
    expect(outcome().data).toMatchObject({ code: 'OVERLOADED', retryable: true });
    expect(textOf(outcome().content.message)).toBe('Too busy.');
  });

  test('that cannot be better next time is not made again', () => {
    begin();
    breakModel({ code: 'NO_KEY', class: 'authentication', retryable: false });
    expect(outcome().data).toMatchObject({ code: 'NO_KEY', class: 'authentication' });
  });

  test.each([
    ['BUDGET_EXHAUSTED', 'budget'],
    ['UNKNOWN_MODEL', 'invalid-request'],
    ['RUNNER_LOST', 'crashed'],
  ])('that was denied with %s fails the agent as %s', (code, kind) => {
    begin();
    const { call } = asked().data;
    bench.append(
      [event('model.denied', { call, code }, { message: text('No.') })],
      'model-gateway',
    );
    bench.settle();
    expect(outcome().data).toMatchObject({ code, class: kind, retryable: false });
  });

  test('is not made again by a timer that was set before, nor twice by one', () => {
    begin();
    breakModel();
    const { record, data } = newest(bench.events, 'timer.set');
    bench.input(event('timer.fired', { ...data, record, index: 7 }));
    expect(bench.settle()).toEqual([]);
    fireTimer();
    expect(fireTimer()).toEqual([]);
  });

  test('takes its wait back when the session ends', () => {
    begin();
    breakModel();
    bench.append([event('session.cancelled', { requestedBy: 'user:ada' })], 'supervisor');
    expect(bench.typesOf(bench.settle())).toEqual([
      'timer.cancelled',
      'agent.cancelled',
      'agent.cleaned-up',
    ]);
    expect(bench.propose(service)).toEqual([]);
  });
});

describe('the wait', () => {
  test('doubles up to a limit, and differs between events', () => {
    const waits = [1, 2, 3, 20].map((tries) => backOffMs(tries, 'rec_1#0', 0));
    for (const [index, full] of [500, 1_000, 2_000, 30_000].entries()) {
      expect(waits[index]).toBeGreaterThanOrEqual(full / 2);
      expect(waits[index]).toBeLessThanOrEqual(full);
    }
    expect(backOffMs(1, 'rec_1#0', 0)).toBe(waits[0]);
    expect(backOffMs(1, 'rec_2#0', 0)).not.toBe(waits[0]);
  });
});
