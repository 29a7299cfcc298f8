/** Requests for vectors in the decisions of the gateway: money, cache, and no conversation. */
import { beforeEach, expect, test } from 'vitest';
import { type Draft, event, json, type SeenEvent } from '../../../../schemas/event.ts';
import { createMemoryBlobs } from '../../../../services/chassis/content/blobs.ts';
import { contextsOf } from '../../../../services/chassis/context/model-context.ts';
import { AnswerCache } from '../../../../services/model-gateway/answer-cache.ts';
import {
  callsToQuote,
  type ModelGatewayState,
  modelGatewayLogic,
  requestOf,
} from '../../../../services/model-gateway/decide.ts';
import { createModelEffects } from '../../../../services/model-gateway/effects.ts';
import { breakerDefaults } from '../../../../services/model-gateway/gate/breaker.ts';
import { Gate } from '../../../../services/model-gateway/gate/gate.ts';
import { createScriptedProvider } from '../../../../services/model-gateway/providers/scripted.ts';
import { BenchSession } from '../../../support/bench-session.ts';
import { modelAgent, newest, openWork } from '../../../support/work-fixtures.ts';

const nowMs = 1_000_000;
const cache = new AnswerCache();
const provider = createScriptedProvider({ rules: [], file: 'none', nowMs: () => nowMs });
const effects = createModelEffects({
  ...{ providers: new Map([['scripted', provider]]), cache, blobs: createMemoryBlobs() },
  clock: { nowMs: () => nowMs, after: () => () => undefined },
  gate: new Gate({ providers: {}, tenants: {}, breaker: breakerDefaults }, () => undefined),
  countsTokens: () => true,
});

let bench: BenchSession;
let costNanoUsd: number;
beforeEach(() => {
  costNanoUsd = 40;
  const facts = () => {
    const quoted = callsToQuote(bench.state<ModelGatewayState>('model-gateway'));
    const quotes = quoted.map(({ key, inputTokensMost }) => {
      return [key, { inputTokensMost, costNanoUsd, known: true, priceVersion: 'p' }] as const;
    });
    return { facts: { providers: ['scripted'], quotes: Object.fromEntries(quotes) } };
  };
  bench = new BenchSession([{ logic: modelGatewayLogic, facts }]);
});

const state = (): ModelGatewayState => bench.state('model-gateway');

function embed(call: string, texts: readonly string[]): void {
  const who = { call, agent: 'w.1', task: 'w', attempt: 1, step: 1, agentName: 'writer' };
  const data = { ...who, model: 'scripted/v', outputTokensMax: 0, timeoutMs: 1_000, tools: [] };
  const more = { embeds: texts.length, cacheMs: 60_000 };
  const content = { messages: json([]), texts: json([...texts]) };
  bench.append([event('model.requested', { ...data, ...more }, content)], 'worker-pool:general');
  bench.settle();
}

async function run(): Promise<Draft<'model.completed'>> {
  const claim = newest(bench.events, 'model.claimed') as SeenEvent;
  const job = effects.jobOf(claim, state(), bench.meta);
  const control = { signal: new AbortController().signal, traceparent: '' };
  const outcome = (await job?.run(control)) as Draft<'model.completed'>;
  bench.input(outcome);
  bench.settle();
  return outcome;
}

test('the money is held before they are asked for, by the size of the texts', async () => {
  openWork(bench, { agents: [modelAgent()], budgetNanoUsd: 100 });
  embed('call_1', ['one', 'two two']);
  const [quoted] = callsToQuote(state());
  expect(quoted).toBeUndefined();
  const held = newest(bench.events, 'budget.reserved').data;
  expect(held).toMatchObject({ call: 'call_1', reservedNanoUsd: 40, leftNanoUsd: 60 });
  expect(held.inputTokensMost).toBeGreaterThan(20);
  const { data, content } = await run();
  expect(data).toMatchObject({ embeds: 2, dimensions: 64, costNanoUsd: 0 });
  expect(content?.['message']?.body).toMatchObject({
    vectors: [expect.any(Array), expect.any(Array)],
  });
  costNanoUsd = 101;
  embed('call_2', ['dear']);
  expect(newest(bench.events, 'model.denied').data).toMatchObject({
    ...{ call: 'call_2', code: 'BUDGET_EXHAUSTED' },
  });
});

test('an equal request is answered from the cache, another is not', async () => {
  openWork(bench, { agents: [modelAgent()] });
  embed('call_1', ['the same']);
  expect((await run()).data.cached).toBeUndefined();
  embed('call_2', ['the same']);
  expect((await run()).data).toMatchObject({ cached: true, inputTokens: 0, embeds: 1 });
  embed('call_3', ['another']);
  expect((await run()).data.cached).toBeUndefined();
});

test('they are no part of a conversation, and can be shown', async () => {
  openWork(bench, { agents: [modelAgent()] });
  embed('call_1', ['one', 'two']);
  expect(requestOf(state(), 'call_1')).toMatchObject({ messages: [], texts: ['one', 'two'] });
  await run();
  expect(state().conversations).toEqual({});
  const [shown] = contextsOf(bench.events);
  expect(shown).toMatchObject({ purpose: 'embedding', omitted: [] });
  expect(shown?.messages).toEqual([
    { role: 'user', text: 'one' },
    { role: 'user', text: 'two' },
  ]);
});
