import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createPriceBook } from '../../../../../services/model-gateway/prices.ts';
import { createAnthropicProvider } from '../../../../../services/model-gateway/providers/anthropic.ts';
import { createOpenAiCompatibleProvider } from '../../../../../services/model-gateway/providers/openai-compatible.ts';
import type { ModelProvider } from '../../../../../services/model-gateway/providers/port.ts';
import { scriptedVector } from '../../../../../services/model-gateway/providers/scripted-vectors.ts';
import {
  completedOf,
  failureOf,
  requestOf,
  testNowMs,
} from '../../../../support/model-requests.ts';
import { type ModelServer, startModelServer } from '../../../../support/model-server.ts';

const model = 'local/vectors';
const price = { inputNanoUsdPerMTokens: 1_000_000_000, outputNanoUsdPerMTokens: 0 };
const prices = createPriceBook({ 'local/*': price });
const parts = { name: 'local', prices, nowMs: () => testNowMs, apiKey: 'sk-secret' };

let server: ModelServer;
let provider: ModelProvider;
beforeEach(async () => {
  server = await startModelServer();
  provider = createOpenAiCompatibleProvider({ ...parts, baseUrl: `${server.url}/v1` });
});
afterEach(() => server.stop());

const texts = (count: number): string[] => Array.from({ length: count }, (_, at) => `text ${at}`);

function answer(count: number, more: object = { usage: { prompt_tokens: 5 } }): void {
  const data = texts(count).map((_, index) => ({ index, embedding: [index, 0.5] }));
  server.answer({ body: { object: 'list', model: 'vectors', data, ...more } });
}

const ask = (count: number) =>
  provider.complete(requestOf({ model, messages: [], texts: texts(count) }));

describe('vectors', () => {
  it('come in the order of the texts, batch by batch, with all that they cost', async () => {
    answer(128);
    answer(2);
    const { message, usage, cost, finishReason } = completedOf(await ask(130));
    expect(message.vectors).toHaveLength(130);
    expect(message.vectors?.[128]).toEqual([0, 0.5]);
    expect(server.requests.map(({ path }) => path)).toEqual(['/v1/embeddings', '/v1/embeddings']);
    expect(server.requests[1]?.body['input']).toEqual(['text 128', 'text 129']);
    expect(usage).toMatchObject({ inputTokens: 10, outputTokens: 0 });
    expect(cost).toMatchObject({ costNanoUsd: 10_000, known: true });
    expect(finishReason).toBe('stop');
  });

  it('that nobody counted cost what is estimated, and say so', async () => {
    answer(2, {});
    const { usage, cost } = completedOf(await ask(2));
    expect(usage.inputTokens).toBe(4);
    expect(cost.known).toBe(false);
  });

  it('of which a later batch fails are no answer, and what was paid is said', async () => {
    answer(128);
    server.answer({
      status: 429,
      headers: { 'retry-after': '2' },
      body: { error: { message: 'slow' } },
    });
    const outcome = await ask(130);
    expect(failureOf(outcome)).toMatchObject({ class: 'rate-limited', retryAfterMs: 2_000 });
    expect(outcome).toMatchObject({
      usage: { inputTokens: 5 },
      cost: { costNanoUsd: 5_000, known: true },
    });
  });

  it.each([
    ['too few', 1],
    ['too many', 3],
  ])('that are %s are a bad answer', async (_what, count) => {
    answer(count);
    expect(failureOf(await ask(2))).toMatchObject({ code: 'MODEL_BAD_ANSWER', retryable: true });
  });

  it('are not asked of a protocol that has none', async () => {
    const at = { ...parts, name: 'anthropic', baseUrl: `${server.url}/v1` };
    const request = requestOf({ model: 'anthropic/claude', messages: [], texts: ['one'] });
    const failure = failureOf(await createAnthropicProvider(at).complete(request));
    expect(failure).toMatchObject({ code: 'MODEL_CANNOT_EMBED', class: 'invalid-request' });
    expect(server.requests).toEqual([]);
  });

  it('are quoted for the input alone', () => {
    const use = { model, inputTokensMost: 7, outputTokensMax: 0 };
    expect(provider.quote(use)).toMatchObject({ costNanoUsd: 7_000, known: true });
  });
});

describe('scripted vectors', () => {
  const near = (left: string, right: string): number => {
    const other = scriptedVector(right);
    return scriptedVector(left).reduce((sum, part, at) => sum + part * (other[at] ?? 0), 0);
  };

  it('are nearer where texts share words, and the same for the same text', () => {
    expect(near('the key is here', 'Where is the key?')).toBeGreaterThan(
      near('milk is out', 'Where is the key?'),
    );
    expect(near('…', '…')).toBeCloseTo(1, 4);
  });
});
