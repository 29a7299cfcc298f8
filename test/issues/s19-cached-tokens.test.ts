// Source: langfuse 12306 and 10592, cached input tokens were counted twice.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createPriceBook } from '../../services/model-gateway/prices.ts';
import { createAnthropicProvider } from '../../services/model-gateway/providers/anthropic.ts';
import { createOpenAiCompatibleProvider } from '../../services/model-gateway/providers/openai-compatible.ts';
import { completedOf, requestOf, testNowMs } from '../support/model-requests.ts';
import { type ModelServer, startModelServer } from '../support/model-server.ts';

let server: ModelServer;
beforeEach(async () => {
  server = await startModelServer();
});
afterEach(() => server.stop());

/** Nano-USD per token: in, read from the cache, written to the cache, out. */
const rates = { input: 3_000, read: 300, write: 3_750, output: 15_000 };
const price = {
  inputNanoUsdPerMTokens: rates.input * 1e6,
  cacheReadNanoUsdPerMTokens: rates.read * 1e6,
  cacheWriteNanoUsdPerMTokens: rates.write * 1e6,
  outputNanoUsdPerMTokens: rates.output * 1e6,
};
const prices = createPriceBook({ 'a/*': price });
const at = { name: 'a', apiKey: 'k', prices, nowMs: () => testNowMs };

/** What the provider's invoice says: each token once, at the rate of its kind. */
const invoice = (plain: number, read: number, write: number, output: number): number =>
  plain * rates.input + read * rates.read + write * rates.write + output * rates.output;

const chat = (usage: object) => ({
  ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm', usage },
  choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
});

/** The same answer token by token, with its usage in the last piece, as hosts ask for it. */
function streamed(usage: object): readonly string[] {
  const head = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' };
  const piece = (delta: object, finish: string | null) =>
    `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta, finish_reason: finish }] })}`;
  return [
    piece({ role: 'assistant', content: 'ok' }, null),
    piece({}, 'stop'),
    `data: ${JSON.stringify({ ...head, choices: [], usage })}`,
    'data: [DONE]',
  ];
}

describe.each(['whole', 'streamed'] as const)('%s answers', (way) => {
  test.each([
    [
      'OpenAI: inside the total',
      { prompt_tokens: 1_000, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 400 } },
      [600, 400, 0, 7],
    ],
    [
      'DeepSeek: inside the total, under another name',
      { prompt_tokens: 1_000, completion_tokens: 7, prompt_cache_hit_tokens: 400 },
      [600, 400, 0, 7],
    ],
    [
      'a router that writes its cache too',
      {
        prompt_tokens: 1_000,
        completion_tokens: 7,
        prompt_tokens_details: { cached_tokens: 400, cache_write_tokens: 100 },
      },
      [500, 400, 100, 7],
    ],
    [
      'beside the total: more read than there was input',
      { prompt_tokens: 10, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 400 } },
      [10, 400, 0, 7],
    ],
    ['nothing cached', { prompt_tokens: 1_000, completion_tokens: 7 }, [1_000, 0, 0, 7]],
  ] as const)('%s', async (_name, usage, [plain, read, write, output]) => {
    const isStream = way === 'streamed';
    server.answer(isStream ? { stream: { events: streamed(usage) } } : { body: chat(usage) });
    const provider = createOpenAiCompatibleProvider({ ...at, baseUrl: `${server.url}/v1` });
    const onText = isStream ? { onText: () => undefined } : {};
    const { cost, usage: counted } = completedOf(
      await provider.complete(requestOf({ model: 'a/m', ...onText })),
    );
    expect(cost).toMatchObject({ known: true, costNanoUsd: invoice(plain, read, write, output) });
    expect(counted.inputTokens).toBe(plain + read + write);
  });
});

test('Anthropic: beside the input, read and written', async () => {
  const usage = {
    input_tokens: 600,
    cache_read_input_tokens: 400,
    cache_creation_input_tokens: 100,
    output_tokens: 7,
  };
  const head = { id: 'm', type: 'message', role: 'assistant', model: 'm', stop_sequence: null };
  server.answer({
    body: { ...head, content: [{ type: 'text', text: 'ok' }], stop_reason: 'end_turn', usage },
  });
  const provider = createAnthropicProvider({ ...at, baseUrl: `${server.url}/v1` });
  const { cost, usage: counted } = completedOf(
    await provider.complete(requestOf({ model: 'a/m' })),
  );
  expect(cost).toMatchObject({ known: true, costNanoUsd: invoice(600, 400, 100, 7) });
  expect(counted).toMatchObject({
    inputTokens: 1_100,
    cacheReadTokens: 400,
    cacheWriteTokens: 100,
  });
});
