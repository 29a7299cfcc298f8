// Source: langfuse 2112, an answer from the cache was billed.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { costOf } from '../../replay-tools/cost/cost.ts';
import { costLines } from '../../replay-tools/cost/cost-text.ts';
import { diffOf } from '../../replay-tools/diff/diff.ts';
import { mocked } from '../../replay-tools/fork/answers.ts';
import { forkAt, historyOfFork } from '../../replay-tools/fork/fork.ts';
import { dataOf, type Happening, History } from '../../replay-tools/read/history.ts';
import { judgeSession } from '../../replay-tools/read/session.ts';
import { receiptsOf } from '../../replay-tools/receipts/receipts.ts';
import { timelineLines } from '../../replay-tools/show/timeline.ts';
import type { Draft, SeenEvent } from '../../schemas/event.ts';
import { event, json } from '../../schemas/event.ts';
import { createMemoryBlobs } from '../../services/chassis/content/blobs.ts';
import { fillHotColumns } from '../../services/event-store/hot-columns.ts';
import { AnswerCache } from '../../services/model-gateway/answer-cache.ts';
import { type ModelGatewayState, modelGatewayLogic } from '../../services/model-gateway/decide.ts';
import { createModelEffects } from '../../services/model-gateway/effects.ts';
import { breakerDefaults } from '../../services/model-gateway/gate/breaker.ts';
import { Gate } from '../../services/model-gateway/gate/gate.ts';
import { createPriceBook } from '../../services/model-gateway/prices.ts';
import { createOpenAiCompatibleProvider } from '../../services/model-gateway/providers/openai-compatible.ts';
import { BenchSession } from '../support/bench-session.ts';
import { eventRow } from '../support/event-rows.ts';
import { MemoryWorld } from '../support/memory-world.ts';
import { type ModelServer, startModelServer } from '../support/model-server.ts';
import { scenarioOptions } from '../support/recorded-world.ts';
import { modelAgent, newest, openWork } from '../support/work-fixtures.ts';
import { sourceFromWorld } from '../support/world-session.ts';

const price = { inputNanoUsdPerMTokens: 3e9, outputNanoUsdPerMTokens: 15e9 };
let server: ModelServer;
let effects: ReturnType<typeof createModelEffects>;
let nowMs: number;

beforeEach(async () => {
  nowMs = 1_000_000;
  server = await startModelServer();
  const prices = createPriceBook({ 'a/m': price, 'a/n': price });
  const at = { name: 'a', baseUrl: `${server.url}/v1`, prices, nowMs: () => Date.now() };
  effects = createModelEffects({
    providers: new Map([['a', createOpenAiCompatibleProvider(at)]]),
    clock: { nowMs: () => nowMs, after: () => () => undefined },
    gate: new Gate({ providers: {}, tenants: {}, breaker: breakerDefaults }, () => undefined),
    countsTokens: () => false,
    ...{ blobs: createMemoryBlobs(), cache: new AnswerCache() },
  });
  for (const content of ['One.', 'Two.', 'Three.', 'Four.', 'Five.', 'Six.'])
    server.answer({
      body: {
        ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm' },
        choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 100, completion_tokens: 10 },
      },
    });
});
afterEach(() => server.stop());

type Asked = Readonly<{
  tenant?: string;
  said?: string;
  model?: string;
  answerCacheMs?: number;
}>;

/** One session that asks once: its outcome, and what the gateway has spent then. */
async function ask({ tenant = 'acme', said = 'Hello.', model = 'a/m', answerCacheMs }: Asked) {
  const facts = () => ({ facts: { providers: ['a'] } });
  const bench = new BenchSession([{ logic: modelGatewayLogic, facts }], { tenant });
  const cache = answerCacheMs === undefined ? {} : { answerCacheMs };
  openWork(bench, { agents: [modelAgent(cache)] });
  const who = { call: 'call_1', agent: 'w.1', task: 'w', attempt: 1, step: 1, agentName: 'writer' };
  const data = { ...who, model, outputTokensMax: 9, timeoutMs: 9e12, tools: [] };
  const messages = json([{ role: 'user', text: said }]);
  bench.append([event('model.requested', data, { messages })], 'worker-pool:general');
  bench.settle();
  const state = (): ModelGatewayState => bench.state('model-gateway');
  const claim = newest(bench.events, 'model.claimed') as SeenEvent;
  const job = effects.jobOf(claim, state(), bench.meta);
  const control = { signal: new AbortController().signal, traceparent: '' };
  const outcome = (await job?.run(control)) as Draft<'model.completed'>;
  bench.input(outcome);
  return {
    ...outcome.data,
    message: outcome.content?.['message']?.body,
    spent: state().spentNanoUsd,
  };
}

const used = { inputTokens: 100, outputTokens: 10, costNanoUsd: 450_000, spent: 450_000 };
const free = { inputTokens: 0, outputTokens: 0, costNanoUsd: 0, costKnown: true, spent: 0 };

test('an equal request is answered again for nothing, and the answer says so', async () => {
  const first = await ask({ answerCacheMs: 60_000 });
  expect(first).toMatchObject(used);
  expect(first.cached).toBeUndefined();
  const again = await ask({ answerCacheMs: 60_000 });
  expect(again).toMatchObject({ ...free, cached: true, priceVersion: 'answer-cache' });
  expect(again.message).toEqual(first.message);
  expect(server.requests).toHaveLength(1);
});

test('another tenant, another request, another model, an agent that does not allow it and an old answer are asked anew', async () => {
  await ask({ answerCacheMs: 60_000 });
  expect(await ask({ answerCacheMs: 60_000, tenant: 'other' })).toMatchObject(used);
  expect(await ask({})).toMatchObject(used);
  expect(await ask({ answerCacheMs: 60_000, said: 'Goodbye.' })).toMatchObject(used);
  expect(await ask({ answerCacheMs: 60_000, model: 'a/n' })).toMatchObject(used);
  expect(server.requests).toHaveLength(5);
  nowMs += 60_000;
  await ask({ answerCacheMs: 60_000 });
  expect(server.requests).toHaveLength(6);
});

test('what a fork repeats out of the record cost nothing there and says so; decisions go by the number as they did', async () => {
  const world = await MemoryWorld.start({ seed: 7, ...scenarioOptions() });
  const goal = { id: 'asked', goal: 'Ask.', plan: 'ask', inputs: { question: 'What is new?' } };
  const { session } = world.publishGoal(goal);
  expect(await world.runUntilDone()).toBe(true);
  const was = new History(await judgeSession(await sourceFromWorld(world, session)));
  const [at] = was.ofType('tool.completed', 'tool.failed');
  if (at?.event.type !== 'tool.completed') throw new Error('no tool completed');
  const mocks = mocked([{ tool: 'test.echo', result: at.event.content.result.body ?? null }]);
  const fork = forkAt(was, at, { mocks });
  expect(fork.played).toMatchObject({ ended: 'closed', answers: { mock: 1, record: 2 } });
  const went = await historyOfFork(fork);
  const spent = costOf(was, 'model').total.costNanoUsd;
  expect(spent).toBeGreaterThan(0);
  const costs = costOf(went, 'model');
  expect(costs.total).toMatchObject({ costNanoUsd: 0, inputTokens: 0, outputTokens: 0 });
  expect(costs.replayedNanoUsd).toBe(spent);
  expect(costLines(costs).at(-1)).toContain('replayed here for nothing');
  expect(diffOf(was, went)).toMatchObject({
    one: { costNanoUsd: spent },
    other: { costNanoUsd: 0, inputTokens: 0 },
  });
  expect(receiptsOf(went).costNanoUsd).toBe(0);
  expect(timelineLines(went.judged).join('\n')).toContain('replayed for nothing)');
  const [last] = went.ofType('model.completed').slice(-1);
  expect(last?.event.data).toMatchObject({ priceVersion: 'replayed' });
  const row = { ...eventRow({}) };
  fillHotColumns(row, 'model.completed', dataOf(last as Happening));
  expect(row).toMatchObject({ priceVersion: 'replayed', costNanoUsd: 0, tokensIn: 0 });
  const money = (history: History) =>
    history.ofType('result.published').map(({ event: { data } }) => data);
  expect(money(went)).toMatchObject([{ costNanoUsd: spent }]);
});
