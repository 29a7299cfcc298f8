import { beforeEach, describe, expect, test } from 'vitest';
import { type DataOf, event, json, type SeenEvent, textOf } from '../../../../schemas/event.ts';
import { backOffMs } from '../../../../services/chassis/effects/back-off.ts';
import { addressOf } from '../../../../services/chassis/protocol/service-logic.ts';
import {
  type ModelGatewayState,
  modelGatewayLogic,
} from '../../../../services/model-gateway/decide.ts';
import type { ModelGatewayFacts } from '../../../../services/model-gateway/gateway-facts.ts';
import { BenchSession } from '../../../support/bench-session.ts';
import {
  answered,
  claimData,
  failedModel,
  modelAgent,
  newest,
  openWork,
} from '../../../support/work-fixtures.ts';

let bench: BenchSession;
let facts: ModelGatewayFacts;

beforeEach(() => {
  facts = { providers: ['a', 'b', 'c'] };
  bench = new BenchSession([{ logic: modelGatewayLogic, facts: () => ({ facts }) }]);
});

const state = (): ModelGatewayState => bench.state('model-gateway');
const fast = ['a/one', 'b/two', 'c/three'];

function open(budgetNanoUsd?: number) {
  const models = { fast: [...fast], small: 'a/one' };
  const budget = budgetNanoUsd === undefined ? {} : { budgetNanoUsd };
  openWork(bench, { agents: [modelAgent()], models, ...budget });
}

function ask(call = 'call_1', model = 'fast'): SeenEvent[] {
  const who = { call, agent: `${call}.1`, task: call, attempt: 1, step: 1, agentName: 'writer' };
  const data = { ...who, model, outputTokensMax: 10, timeoutMs: 30_000, tools: [] };
  const messages = json([{ role: 'user', text: 'Hello.' }]);
  bench.append([event('model.requested', data, { messages })], 'worker-pool:general');
  return bench.settle();
}

const claim = () => newest(bench.events, 'model.claimed');

function failTry(changes: Partial<DataOf<'model.attempt-failed'>> = {}): SeenEvent[] {
  const { data, content } = failedModel(claim());
  const { model, try: number = 1 } = claim().data;
  const more = { class: 'overloaded' as const, retryable: true, ...changes };
  const failed = { ...data, ...claimData(claim()), model, try: number, ...more };
  bench.input(event('model.attempt-failed', failed, { message: content?.message ?? json('') }));
  return bench.settle();
}

const chosen = (events: readonly SeenEvent[]) =>
  events.flatMap((one) =>
    one.type === 'model.claimed' ? [[one.data.model, one.data.because]] : [],
  );

function fire(): SeenEvent[] {
  const set = newest(bench.events, 'timer.set');
  const { timer, dueAtMs } = set.data;
  bench.nowMs = Math.max(bench.nowMs, dueAtMs);
  const { record, index } = set;
  bench.input(event('timer.fired', { timer, dueAtMs, record, index }));
  return bench.settle();
}

describe('a name for several models', () => {
  test('goes to the first, and the claim says that it was the choice', () => {
    open();
    expect(ask()[0]?.data).toMatchObject({
      ...{ model: 'a/one', asked: 'fast', try: 1, final: false },
      ...{ because: 'first-choice', passedOver: [] },
    });
  });

  test('goes on to the next when one fails, at once', () => {
    open();
    ask();
    expect(chosen(failTry())).toEqual([['b/two', 'next-choice']]);
    expect(claim().data).toMatchObject({ try: 2, attempt: 1 });
    expect(claim().data.passedOver).toMatchObject([{ model: 'a/one', because: 'failed' }]);
    expect(bench.settle()).toEqual([]);
  });

  test('comes back to the first after its back-off, whose jitter follows from the event', () => {
    open();
    ask();
    failTry();
    const first = newest(bench.events, 'model.attempt-failed');
    failTry();
    const waits = failTry();
    expect(bench.typesOf(waits)).toEqual(['model.deferred', 'timer.set']);
    const dueAtMs = first.atMs + backOffMs(1, addressOf(first), 0);
    expect(newest(waits, 'model.deferred').data.untilMs).toBeGreaterThanOrEqual(
      Math.min(dueAtMs, bench.nowMs + 1),
    );
    expect(bench.settle()).toEqual([]);
    expect(chosen(fire())[0]?.[1]).toBe('retry');
  });

  test('keeps the wait that a provider asks for', () => {
    open();
    ask();
    const at = bench.nowMs;
    failTry({ retryAfterMs: 9_000 });
    failTry({ retryAfterMs: 8_000 });
    failTry({ retryAfterMs: 20_000 });
    expect(newest(bench.events, 'timer.set').data.dueAtMs).toBe(at + 8_000);
    expect(chosen(fire())).toEqual([['b/two', 'retry']]);
  });

  test('does not ask again one that failed for good, and says so when all did', () => {
    open();
    ask();
    const wrongKey = { class: 'authentication', retryable: false } as const;
    failTry(wrongKey);
    failTry(wrongKey);
    const said = failTry({ ...wrongKey, code: 'MODEL_AUTHENTICATION' });
    expect(said[0]).toMatchObject({
      type: 'model.denied',
      data: { code: 'MODEL_AUTHENTICATION', class: 'authentication' },
    });
    expect(textOf(newest(said, 'model.denied').content.message)).toContain('c/three');
    expect(Object.keys(state().calls)).toEqual([]);
  });

  test('the last try is final: what fails then is the failure of the call', () => {
    open();
    ask();
    for (let tries = 1; tries < 5; tries += 1) {
      failTry();
      if (state().calls['call_1']?.claims === 0) fire();
    }
    expect(claim().data).toMatchObject({ try: 5, final: true });
    bench.input(failedModel(claim()));
    bench.settle();
    expect(Object.keys(state().calls)).toEqual([]);
  });

  test('skips providers that are not set up', () => {
    facts = { providers: ['c'] };
    open();
    expect(chosen(ask())).toEqual([['c/three', 'next-choice']]);
    expect(claim().data.passedOver?.map(({ because }) => because)).toEqual([
      'no-provider',
      'no-provider',
    ]);
  });

  test('takes a cheaper one when the first may cost more than is left', () => {
    open(1_000);
    const quote = (costNanoUsd: number) => ({
      ...{ costNanoUsd, known: true, priceVersion: 'p', inputTokensMost: 5 },
    });
    facts = { ...facts, quotes: { 'call_1 a/one': quote(2_000), 'call_1 b/two': quote(600) } };
    const made = ask();
    expect(bench.typesOf(made)).toEqual(['budget.reserved', 'model.claimed']);
    expect(chosen(made)).toEqual([['b/two', 'next-choice']]);
    expect(claim().data.passedOver).toEqual([{ model: 'a/one', because: 'too-dear' }]);
    bench.input(answered(claim(), { text: 'Yes.' }));
    expect(state().calls).toEqual({});
  });
});

describe('a model that cannot be asked now', () => {
  const full = (model: string, untilMs?: number) => ({
    [model]: { calls: 0, not: 'busy' as const, ...(untilMs === undefined ? {} : { untilMs }) },
  });

  test('is passed over', () => {
    facts = { ...facts, room: full('a/one') };
    open();
    expect(chosen(ask())).toEqual([['b/two', 'next-choice']]);
  });

  test('lets as many calls go as there is room, in one order', () => {
    facts = { ...facts, room: { 'a/one': { calls: 1, not: 'busy' } } };
    open();
    const who = (call: string) => ({ call, agent: call, task: call, attempt: 1, step: 1 });
    const data = { agentName: 'w', model: 'fast', outputTokensMax: 1, timeoutMs: 9_000, tools: [] };
    const messages = { messages: json([]) };
    const asked = ['c1', 'c2'].map((call) =>
      event('model.requested', { ...who(call), ...data }, messages),
    );
    bench.append(asked, 'worker-pool:general');
    expect(chosen(bench.settle())).toEqual([
      ['a/one', 'first-choice'],
      ['b/two', 'next-choice'],
    ]);
  });

  test('is waited for where there is no other: said once, with a timer for the worst case', () => {
    facts = { ...facts, room: full('a/one') };
    open();
    const waits = ask('call_1', 'a/one');
    expect(waits).toMatchObject([
      { type: 'model.deferred', data: { waitsFor: [{ model: 'a/one', because: 'busy' }] } },
      { type: 'timer.set', data: { timer: 'model/call_1', dueAtMs: bench.nowMs + 30_000 } },
    ]);
    expect(bench.settle()).toEqual([]);
    facts = { providers: ['a'] };
    expect(bench.typesOf(bench.settle())).toEqual(['timer.cancelled', 'model.claimed']);
  });

  test('is not waited for longer than the call may take', () => {
    facts = { ...facts, room: full('a/one') };
    open();
    ask('call_1', 'a/one');
    const [denied, ...more] = fire();
    expect(denied?.data).toEqual({
      ...{ call: 'call_1', code: 'MODEL_RATE_LIMITED', class: 'rate-limited' },
    });
    expect(more).toEqual([]);
    expect(textOf(newest(bench.events, 'model.denied').content.message)).toContain(
      'as many calls under way as providers.yaml allows',
    );
  });
});
