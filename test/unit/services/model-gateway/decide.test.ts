import { beforeEach, describe, expect, test } from 'vitest';
import {
  type DataOf,
  event,
  json,
  type SeenEvent,
  text,
  textOf,
} from '../../../../schemas/event.ts';
import type { JsonValue } from '../../../../schemas/json.ts';
import { addressOf } from '../../../../services/chassis/protocol/service-logic.ts';
import { inputTokensMost } from '../../../../services/model-gateway/budget.ts';
import {
  callsToQuote,
  type ModelGatewayState,
  mayRun,
  modelGatewayLogic,
  requestOf,
} from '../../../../services/model-gateway/decide.ts';
import type { ModelMessage } from '../../../../services/model-gateway/providers/port.ts';
import type { Quote } from '../../../../services/model-gateway/state.ts';
import { BenchSession } from '../../../support/bench-session.ts';
import {
  answered,
  eventsOf,
  failedModel,
  modelAgent,
  newest,
  openWork,
  tools,
  type WorkPlan,
} from '../../../support/work-fixtures.ts';

let bench: BenchSession;

/** What a call may cost, as the facts of a host say; none where a test sets none. */
let quoteOf: ((model: string, inputTokens: number) => Partial<Quote>) | undefined;

beforeEach(() => {
  quoteOf = undefined;
  const facts = () => {
    const quotes = callsToQuote(state()).map(({ call, model, inputTokensMost }) => {
      const known = { inputTokensMost, costNanoUsd: 0, known: true, priceVersion: 'test@1' };
      return [call, { ...known, ...quoteOf?.(model, inputTokensMost) }];
    });
    const providers = ['scripted', 'openai'];
    return {
      facts:
        quoteOf === undefined ? { providers } : { providers, quotes: Object.fromEntries(quotes) },
    };
  };
  bench = new BenchSession([{ logic: modelGatewayLogic, facts }]);
});

const state = (): ModelGatewayState => bench.state('model-gateway');
const open = (plan: Partial<WorkPlan> = {}) => openWork(bench, { agents: [modelAgent()], ...plan });
const user = (said: string): ModelMessage => ({ role: 'user', text: said });

function request(
  call: string,
  messages: readonly ModelMessage[],
  changes: Partial<DataOf<'model.requested'>> & { input?: JsonValue } = {},
): SeenEvent[] {
  const { input, ...more } = changes;
  const data: DataOf<'model.requested'> = {
    ...{ call, agent: 'writer.1', task: 'writer', attempt: 1, step: 1, agentName: 'writer' },
    ...{ model: 'scripted/demo', outputTokensMax: 500, timeoutMs: 30_000, tools: ['read', 'gone'] },
    ...more,
  };
  const said = { messages: json(messages as unknown as JsonValue) };
  const content = input === undefined ? said : { ...said, input: json(input) };
  bench.append([event('model.requested', data, content)], 'worker-pool:general');
  return bench.settle();
}

const claim = () => newest(bench.events, 'model.claimed');

function lose(call: string): SeenEvent[] {
  const { attempt, deadlineAtMs } = claim().data;
  bench.openCalls = {
    [call]: {
      ...{ status: 'claimed', service: 'model-gateway', claim: addressOf(claim()) },
      ...{ incarnation: 'inc_test', attempt, deadlineAtMs },
    },
  };
  bench.lost = { [call]: 'runner-gone' };
  return bench.settle();
}

const endSession = () => {
  bench.append([event('session.failed', { code: 'X' }, { message: text('x') })], 'supervisor');
};

describe('a request', () => {
  test('is claimed once, with its deadline', () => {
    open();
    const [claimed, ...more] = request('call_1', [user('Hello.')]);
    expect(claimed?.data).toEqual({
      call: 'call_1',
      attempt: 1,
      model: 'scripted/demo',
      deadlineAtMs: bench.nowMs + 30_000,
    });
    expect(more).toEqual([]);
    expect(bench.settle()).toEqual([]);
  });

  test('tells the effect what to ask, with the tools that the plan pins', () => {
    open();
    request('call_1', [user('Hello.')], { input: { path: 'a.txt' } });
    const { name, description, inputSchema } = tools.read;
    expect(requestOf(state(), 'call_1')).toEqual({
      model: 'scripted/demo',
      messages: [user('Hello.')],
      tools: [{ name, description, inputSchema }],
      outputTokensMax: 500,
      input: { path: 'a.txt' },
      timeoutMs: 30_000,
      agent: 'writer.1',
    });
    expect(mayRun(state(), 'call_1')).toBe(true);
  });

  test('of a provider that is not set up is denied with those that are', () => {
    open();
    const [denied] = request('call_1', [user('Hello.')], { model: 'nobody/x' });
    expect(denied?.data).toEqual({ call: 'call_1', code: 'UNKNOWN_MODEL' });
    const said = textOf(newest(bench.events, 'model.denied').content.message);
    expect(said).toContain('no model provider "nobody"');
    expect(said).toContain('openai, scripted');
    expect(bench.settle()).toEqual([]);
  });

  test.each(['small', 'scripted/', '/x'])(
    'of the model %s, which is no name, is denied',
    (model) => {
      open();
      expect(request('call_1', [user('Hello.')], { model })[0]?.data).toMatchObject({
        code: 'UNKNOWN_MODEL',
      });
    },
  );

  test('of a session that ended, or a task that ended, is left alone', () => {
    open();
    bench.append([event('task.timed-out', { task: 'writer', attempt: 1, deadlineAtMs: 1 })], 's');
    expect(request('call_1', [user('Hello.')])).toEqual([]);
    expect(bench.typesOf(request('call_2', [user('Hello.')], { attempt: 2 }))).toEqual([
      'model.claimed',
    ]);
    endSession();
    expect(request('call_3', [user('Hello.')], { attempt: 3 })).toEqual([]);
    expect(mayRun(state(), 'call_2')).toBe(false);
  });
});

describe('the budget', () => {
  test('lets calls go until it is spent, then denies them', () => {
    open({ budgetNanoUsd: 1_400 });
    request('call_1', [user('One.')]);
    bench.input(answered(claim(), { text: 'a' }));
    expect(bench.typesOf(request('call_2', [user('Two.')], { step: 2 }))).toEqual([
      'model.claimed',
    ]);
    bench.input(failedModel(claim()));
    const [denied] = request('call_3', [user('Two.')], { step: 2 });
    expect(denied?.data).toEqual({ call: 'call_3', code: 'BUDGET_EXHAUSTED' });
    const said = textOf(newest(bench.events, 'model.denied').content.message);
    expect(said).toContain('1400 nano-USD');
  });

  test('of a goal that sets none never ends', () => {
    open();
    request('call_1', [user('One.')]);
    bench.input(failedModel(claim(), { costNanoUsd: 1e15 }));
    expect(bench.typesOf(request('call_2', [user('One.')]))).toEqual(['model.claimed']);
  });
});

describe('money is held before it is spent', () => {
  const dear = (costNanoUsd: number, known = true) => {
    quoteOf = () => ({ costNanoUsd, known });
  };
  /** So many calls at once, each of an agent of its own. */
  const burst = (count: number): SeenEvent[] => {
    const asked = Array.from({ length: count }, (_, at) => {
      const task = `t${at}`;
      const data = { call: `call_${at}`, agent: `${task}.1`, task, attempt: 1, step: 1 };
      const rest = {
        agentName: 'writer',
        model: 'openai/m',
        outputTokensMax: 10,
        timeoutMs: 9_000,
      };
      const content = { messages: json([{ role: 'user', text: 'Hello.' }]) };
      return event('model.requested', { ...data, ...rest, tools: [] }, content);
    });
    bench.append(asked, 'worker-pool:general');
    return bench.settle();
  };
  const costing = (of: SeenEvent<'model.claimed'>, costNanoUsd: number) => {
    const draft = answered(of, { text: 'a' });
    return { ...draft, data: { ...draft.data, costNanoUsd } };
  };
  const claimed = () => eventsOf(bench.events, 'model.claimed');

  test('a claim says how much it holds, why, and what is left', () => {
    open({ budgetNanoUsd: 1_000 });
    dear(400);
    const [held, made] = request('call_1', [user('Hello.')], { model: 'openai/m' });
    expect(held).toMatchObject({
      type: 'budget.reserved',
      data: {
        ...{ call: 'call_1', attempt: 1, reservedNanoUsd: 400, leftNanoUsd: 600 },
        ...{ outputTokensMax: 500, priceVersion: 'test@1' },
      },
    });
    expect(made?.type).toBe('model.claimed');
  });

  test('of fifty calls at once with money for five, five go out and the others wait', () => {
    open({ budgetNanoUsd: 5_400 });
    dear(1_000);
    burst(50);
    expect(claimed()).toHaveLength(5);
    expect(eventsOf(bench.events, 'model.denied')).toEqual([]);
  });

  test('what an outcome gives back lets the next one go; in the end the rest is denied', () => {
    open({ budgetNanoUsd: 5_400 });
    dear(1_000);
    burst(50);
    for (let done = 0; done < claimed().length; done += 1) {
      const one = claimed()[done];
      if (one !== undefined) bench.input(costing(one, 300));
      bench.settle();
      const spent = eventsOf(bench.events, 'model.completed').length * 300;
      const held = (claimed().length - done - 1) * 1_000;
      expect(spent + held).toBeLessThanOrEqual(5_400);
    }
    // Fifteen cost 4,500; for a sixteenth there are 900, and nobody holds any more.
    expect(claimed()).toHaveLength(15);
    expect(eventsOf(bench.events, 'model.denied')).toHaveLength(35);
    const said = textOf(newest(bench.events, 'model.denied').content.message);
    expect(said).toContain('may cost 1000 nano-USD');
    expect(said).toContain('900 of the goal');
  });

  test('a model without a price is not called under a budget, and is without one', () => {
    open({ budgetNanoUsd: 5_000 });
    dear(0, false);
    expect(request('call_1', [user('x')], { model: 'openai/m' })[0]?.data).toEqual({
      call: 'call_1',
      code: 'MODEL_PRICE_UNKNOWN',
    });
  });

  test('a claim that was lost may have cost what it held, also after the next one answers', () => {
    open({ budgetNanoUsd: 2_500 });
    dear(1_000);
    request('call_1', [user('x')], { model: 'openai/m' });
    expect(bench.typesOf(lose('call_1'))).toEqual(['budget.reserved', 'model.claimed']);
    expect(state().calls['call_1']?.heldNanoUsd).toBe(2_000);
    bench.input(costing(claim(), 200));
    expect(state().spentNanoUsd).toBe(1_200);
  });

  test('a call that is given up counts as spent with all that its claims held', () => {
    open({ budgetNanoUsd: 10_000 });
    dear(1_000);
    request('call_1', [user('x')], { model: 'openai/m' });
    endSession();
    lose('call_1');
    expect(eventsOf(bench.events, 'model.denied')).toHaveLength(1);
    expect(state().spentNanoUsd).toBe(1_000);
  });

  test('nothing is quoted where the goal sets no budget', () => {
    open();
    dear(1_000);
    expect(bench.typesOf(request('call_1', [user('x')], { model: 'openai/m' }))).toEqual([
      'model.claimed',
    ]);
    expect(callsToQuote(state())).toEqual([]);
  });

  test('input is counted on the safe side, in any script', () => {
    const most = (said: string): number => inputTokensMost([user(said)], []);
    expect(most('word '.repeat(1_000))).toBeGreaterThan(1_000);
    expect(most('漢字'.repeat(1_000))).toBeGreaterThanOrEqual(3_000);
    expect(most('😀'.repeat(1_000))).toBeGreaterThanOrEqual(2_000);
  });
});

describe('the conversation', () => {
  test('grows by what is new and by the answers', () => {
    open();
    request('call_1', [user('One.')], { input: 7 });
    const calls = [{ id: 'p1', name: 'read', arguments: {} }];
    bench.input(answered(claim(), { calls }));
    const told: ModelMessage = {
      ...{ role: 'tool', toolCallId: 'p1', toolName: 'read' },
      ...{ result: 'text', isError: false },
    };
    request('call_2', [told], { step: 2 });
    expect(requestOf(state(), 'call_2')).toMatchObject({
      messages: [user('One.'), { role: 'assistant', text: '', toolCalls: calls }, told],
      input: 7,
    });
  });

  test('says what a failed request said only once when it is asked again', () => {
    open();
    request('call_1', [user('One.')]);
    bench.input(failedModel(claim()));
    request('call_2', [user('One.')]);
    expect(requestOf(state(), 'call_2')?.messages).toEqual([user('One.')]);
  });

  test('keeps what a provider wants back with its own answer', () => {
    open();
    request('call_1', [user('One.')]);
    const draft = answered(claim(), { text: 'Hm.' });
    const message = json({ text: 'Hm.', toolCalls: [], reasoning: { signature: 's' } });
    bench.input({ ...draft, content: { message } });
    request('call_2', [user('Two.')], { step: 2 });
    expect(requestOf(state(), 'call_2')?.messages[1]).toEqual({
      ...{ role: 'assistant', text: 'Hm.', toolCalls: [] },
      reasoning: { signature: 's' },
    });
  });

  test('of each agent is its own, and goes with it', () => {
    open();
    request('call_1', [user('One.')]);
    request('call_2', [user('Other.')], { agent: 'b.1', task: 'b' });
    expect(requestOf(state(), 'call_2')?.messages).toEqual([user('Other.')]);
    bench.append([event('agent.cleaned-up', { agent: 'writer.1' })], 'worker-pool:general');
    expect(requestOf(state(), 'call_1')).toBeUndefined();
    expect(mayRun(state(), 'call_1')).toBe(false);
    expect(Object.keys(state().conversations)).toEqual(['b.1']);
  });
});

describe('a lost claim', () => {
  test('is made again, three times in all, then the call is denied', () => {
    open();
    request('call_1', [user('One.')]);
    expect(bench.typesOf(lose('call_1'))).toEqual(['model.claimed']);
    expect(bench.settle()).toEqual([]);
    lose('call_1');
    expect(eventsOf(bench.events, 'model.claimed').map((one) => one.data.attempt)).toEqual([
      1, 2, 3,
    ]);
    expect(lose('call_1')[0]?.data).toEqual({ call: 'call_1', code: 'RUNNER_LOST' });
    expect(bench.settle()).toEqual([]);
  });

  test('of work that ended is denied, so that nothing stays open', () => {
    open();
    request('call_1', [user('One.')]);
    endSession();
    expect(bench.settle()).toEqual([]);
    expect(lose('call_1')[0]?.data).toEqual({ call: 'call_1', code: 'CALL_CANCELLED' });
  });

  // Simulation, seed 500063.
  test('that was made while the answer came opens nothing, holds nothing and runs nothing', () => {
    open();
    request('call_1', [user('One.')]);
    const first = claim();
    bench.openCalls = {
      call_1: {
        ...{ status: 'claimed', service: 'model-gateway', claim: addressOf(first) },
        ...{ incarnation: 'inc_test', attempt: 1, deadlineAtMs: 1 },
      },
    };
    bench.lost = { call_1: 'deadline' };
    const again = bench.propose('model-gateway');
    bench.input(answered(first, { text: 'a' }));
    bench.openCalls = {};
    bench.append(again, 'model-gateway');
    expect(mayRun(state(), 'call_1')).toBe(false);
    expect(requestOf(state(), 'call_1')).toBeUndefined();
    expect(state().calls).toEqual({});
    expect(bench.settle()).toEqual([]);
  });
});
