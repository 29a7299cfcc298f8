import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createPriceBook } from '../../../../../services/model-gateway/prices.ts';
import { createOpenAiCompatibleProvider } from '../../../../../services/model-gateway/providers/openai-compatible.ts';
import type {
  ModelProvider,
  ModelRequest,
} from '../../../../../services/model-gateway/providers/port.ts';
import {
  completedOf,
  failureOf,
  requestOf,
  testNowMs,
} from '../../../../support/model-requests.ts';
import { type ModelServer, startModelServer } from '../../../../support/model-server.ts';

const apiKey = 'sk-test-0123456789abcdef';
let server: ModelServer;
let provider: ModelProvider;

beforeEach(async () => {
  server = await startModelServer();
  provider = providerAt(`${server.url}/v1`);
});

afterEach(async () => {
  await server.stop();
});

function providerAt(baseUrl: string, key: string | undefined = apiKey): ModelProvider {
  return createOpenAiCompatibleProvider({
    name: 'openai',
    baseUrl,
    apiKey: key,
    keyVariable: 'OPENAI_API_KEY',
    prices: createPriceBook(),
    nowMs: () => testNowMs,
  });
}

function chat(message: object, more: object = {}): object {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_760_000_000,
    model: 'gpt-4o-2024-08-06',
    choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 },
    ...more,
  };
}

async function failWith(answer: Parameters<ModelServer['answer']>[0], request?: ModelRequest) {
  server.answer(answer);
  return failureOf(await provider.complete(request ?? requestOf()));
}

describe('a chat completion', () => {
  it('gives text, usage, cost and the model that answered', async () => {
    server.answer({ body: chat({ content: 'Two.' }) });
    const answer = completedOf(await provider.complete(requestOf()));
    expect(answer.message).toEqual({ text: 'Two.', toolCalls: [] });
    expect(answer).toMatchObject({
      finishReason: 'stop',
      provider: 'openai',
      model: 'gpt-4o-2024-08-06',
      usage: { inputTokens: 12, outputTokens: 3, cacheReadTokens: 0, cacheWriteTokens: 0 },
      // 12 * 2.5 + 3 * 10 USD per million tokens
      cost: { costNanoUsd: 60_000, known: true, priceVersion: 'genai-prices@0.1.8' },
    });
  });

  it('sends the conversation, the key, the trace and the limits', async () => {
    server.answer({ body: chat({ content: 'ok' }) });
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await provider.complete(requestOf({ traceparent, temperature: 0.25 }));
    const [request] = server.requests;
    expect(request?.path).toBe('/v1/chat/completions');
    expect(request?.headers.authorization).toBe(`Bearer ${apiKey}`);
    expect(request?.headers.traceparent).toBe(traceparent);
    expect(request?.body).toEqual({
      model: 'gpt-4o',
      max_tokens: 200,
      temperature: 0.25,
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'How many?' },
      ],
    });
  });

  it('sends no key to a server that wants none', async () => {
    const keyless = createOpenAiCompatibleProvider({
      name: 'local',
      baseUrl: `${server.url}/v1`,
      prices: createPriceBook(),
      nowMs: () => testNowMs,
    });
    server.answer({ body: chat({ content: 'ok' }) });
    const answer = completedOf(await keyless.complete(requestOf({ model: 'local/qwen3' })));
    expect(server.requests[0]?.headers.authorization).toBeUndefined();
    expect(answer.cost).toMatchObject({ costNanoUsd: 0, known: false });
  });

  it('counts cached input once, as part of the input', async () => {
    const usage = {
      prompt_tokens: 1000,
      completion_tokens: 100,
      total_tokens: 1100,
      prompt_tokens_details: { cached_tokens: 400 },
      completion_tokens_details: { reasoning_tokens: 60 },
    };
    server.answer({ body: chat({ content: 'ok' }, { usage }) });
    const answer = completedOf(await provider.complete(requestOf()));
    expect(answer.usage).toEqual({
      inputTokens: 1000,
      outputTokens: 100,
      cacheReadTokens: 400,
      cacheWriteTokens: 0,
      reasoningTokens: 60,
    });
    // 600 * 2.5 + 400 * 1.25 + 100 * 10 USD per million tokens
    expect(answer.cost.costNanoUsd).toBe(3_000_000);
  });

  it('adds cached input where a server counts it beside the input', async () => {
    const usage = {
      prompt_tokens: 10,
      completion_tokens: 1,
      total_tokens: 11,
      prompt_tokens_details: { cached_tokens: 400 },
    };
    server.answer({ body: chat({ content: 'ok' }, { usage }) });
    const answer = completedOf(await provider.complete(requestOf()));
    expect(answer.usage).toMatchObject({ inputTokens: 410, cacheReadTokens: 400 });
  });

  it('estimates tokens where a server counts none; the cost is not known then', async () => {
    server.answer({ body: chat({ content: 'twelve chars' }, { usage: undefined }) });
    const answer = completedOf(await provider.complete(requestOf()));
    expect(answer.usage.outputTokens).toBe(3);
    expect(answer.usage.inputTokens).toBeGreaterThan(5);
    expect(answer.cost.known).toBe(false);
  });

  it('says when the answer was cut off', async () => {
    const choices = [
      { index: 0, message: { role: 'assistant', content: 'Tw' }, finish_reason: 'length' },
    ];
    server.answer({ body: chat({}, { choices }) });
    expect(completedOf(await provider.complete(requestOf())).finishReason).toBe('length');
  });
});

describe('tool calls', () => {
  const tools = [
    {
      name: 'files.read',
      description: 'Reads a file.',
      inputSchema: { type: 'object', properties: { path: { type: 'string' } } },
    },
    { name: 'files_read', description: 'Another one.', inputSchema: { type: 'object' } },
  ];

  function call(name: string, text: string): object {
    return { id: 'call_1', type: 'function', function: { name, arguments: text } };
  }

  it('come back under the names and with the arguments of our tools, and are not run', async () => {
    server.answer({
      body: chat({ content: null, tool_calls: [call('files_read_2', '{"path":"a.json"}')] }),
    });
    const answer = completedOf(await provider.complete(requestOf({ tools })));
    expect(answer.finishReason).toBe('tool-calls');
    expect(answer.message.toolCalls).toEqual([
      { id: 'call_1', name: 'files.read', arguments: { path: 'a.json' } },
    ]);
    expect(server.requests).toHaveLength(1);
    expect(server.requests[0]?.body.tools).toMatchObject([
      { type: 'function', function: { name: 'files_read_2', description: 'Reads a file.' } },
      { type: 'function', function: { name: 'files_read' } },
    ]);
  });

  it('keep arguments that are not JSON as text, and tools that nobody offered', async () => {
    server.answer({
      body: chat({ content: '', tool_calls: [call('files_read', '{"path": '), call('rm', '{}')] }),
    });
    const answer = completedOf(await provider.complete(requestOf({ tools })));
    expect(answer.message.toolCalls).toMatchObject([
      { name: 'files_read', arguments: '{"path": ' },
      { name: 'rm', arguments: {} },
    ]);
  });

  it('get ids that differ where a server gives the same or none', async () => {
    const calls = [{ ...call('a', '{"n":1}') }, { ...call('b', '{"n":2}') }];
    const empty = [
      { ...call('c', '{"n":3}'), id: '' },
      { ...call('d', '{"n":4}'), id: '' },
    ];
    server.answer({ body: chat({ content: '', tool_calls: [...calls, ...empty] }) });
    const answer = completedOf(await provider.complete(requestOf({ tools })));
    expect(answer.message.toolCalls).toEqual([
      { id: 'call_1', name: 'a', arguments: { n: 1 } },
      { id: 'call_1_2', name: 'b', arguments: { n: 2 } },
      { id: 'call', name: 'c', arguments: { n: 3 } },
      { id: 'call_2', name: 'd', arguments: { n: 4 } },
    ]);
  });

  it('and their results go back in the next request', async () => {
    server.answer({ body: chat({ content: 'ok' }) });
    const calls = [
      { id: 'c1', name: 'files.read', arguments: { path: 'a' } },
      { id: 'c2', name: 'files.read', arguments: { path: 'b' } },
    ];
    const result = { role: 'tool', toolName: 'files.read' } as const;
    await provider.complete(
      requestOf({
        tools,
        messages: [
          { role: 'user', text: 'Read.' },
          { role: 'assistant', text: '', toolCalls: calls },
          { ...result, toolCallId: 'c1', result: { lines: 3 }, isError: false },
          { ...result, toolCallId: 'c2', result: 'no such file', isError: true },
        ],
      }),
    );
    expect(server.requests[0]?.body.messages).toEqual([
      { role: 'user', content: 'Read.' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          {
            id: 'c1',
            type: 'function',
            function: { name: 'files_read_2', arguments: '{"path":"a"}' },
          },
          {
            id: 'c2',
            type: 'function',
            function: { name: 'files_read_2', arguments: '{"path":"b"}' },
          },
        ],
      },
      { role: 'tool', tool_call_id: 'c1', content: '{"lines":3}' },
      { role: 'tool', tool_call_id: 'c2', content: 'no such file' },
    ]);
  });

  it('bring back reasoning to the provider that made it, and to no other', async () => {
    server.answer({ body: chat({ content: 'ok', reasoning_content: 'Count them.' }) });
    const first = completedOf(await provider.complete(requestOf()));
    const reasoning = first.message.reasoning;
    expect(reasoning).toMatchObject({ provider: 'openai', parts: [{ text: 'Count them.' }] });
    const message = { role: 'assistant', text: 'ok', toolCalls: [] } as const;
    for (const kept of [reasoning, { provider: 'other', parts: [{ text: 'x' }], calls: {} }]) {
      server.answer({ body: chat({ content: 'ok' }) });
      const messages = [{ ...message, ...(kept === undefined ? {} : { reasoning: kept }) }];
      await provider.complete(
        requestOf({ messages: [...messages, { role: 'user', text: 'Go on.' }] }),
      );
    }
    const sent = server.requests.slice(1).map((request) => JSON.stringify(request.body));
    expect(sent.map((body) => body.includes('reasoning_content'))).toEqual([true, false]);
  });
});

describe('a refusal', () => {
  it('at the rate limit can be tried again after the wait that the provider asks for', async () => {
    const body = { error: { message: 'Slow down', type: 'requests', code: 'rate_limit_exceeded' } };
    const failure = await failWith({ status: 429, headers: { 'retry-after': '7' }, body });
    expect(failure).toMatchObject({ class: 'rate-limited', retryable: true, retryAfterMs: 7000 });
    expect(failure.message).toContain('openai answered 429: Slow down');
    expect(server.requests).toHaveLength(1);
  });

  it('reads the wait as a date or in milliseconds as well', async () => {
    const date = new Date(testNowMs + 4000).toUTCString();
    const body = { error: { message: 'x' } };
    const dated = await failWith({ status: 503, headers: { 'retry-after': date }, body });
    const inMs = await failWith({ status: 503, headers: { 'retry-after-ms': '250' }, body });
    expect([dated.retryAfterMs, inMs.retryAfterMs]).toEqual([4000, 250]);
  });

  it('for want of credit cannot be tried again', async () => {
    const body = { error: { message: 'No credit', code: 'insufficient_quota' } };
    expect(await failWith({ status: 429, body })).toMatchObject({
      code: 'MODEL_QUOTA_EXHAUSTED',
      retryable: false,
    });
  });

  it('of the key names the variable and never shows the key', async () => {
    const message = `Incorrect API key: ${apiKey}; you sent sk-tes******cdef.`;
    const failure = await failWith({ status: 401, body: { error: { message } } });
    expect(failure).toMatchObject({ class: 'authentication', retryable: false });
    expect(failure.fix).toContain('OPENAI_API_KEY');
    expect(JSON.stringify(failure)).not.toMatch(/sk-tes|cdef/);
  });

  it.each([
    [400, {}, 'invalid-request', false],
    [400, { code: 'context_length_exceeded' }, 'context-too-long', false],
    [400, { code: 'content_filter' }, 'content-filter', false],
    [403, {}, 'authentication', false],
    [404, {}, 'invalid-request', false],
    [408, {}, 'timeout', true],
    [413, {}, 'context-too-long', false],
    [500, {}, 'provider-error', true],
    [502, {}, 'unavailable', true],
    [503, {}, 'overloaded', true],
    [504, {}, 'timeout', true],
    [200, { code: 429 }, 'rate-limited', true],
  ])('with status %i and %j is of class %s', async (status, error, expected, retryable) => {
    // The words contradict the status on purpose: they must not matter.
    const message = 'timeout: invalid api key, rate limit, context length exceeded';
    const failure = await failWith({ status, body: { error: { message, ...error } } });
    expect([failure.class, failure.retryable]).toEqual([expected, retryable]);
  });

  it('that is not JSON is classed by its status', async () => {
    const failure = await failWith({ status: 502, body: '<html>Bad gateway</html>' });
    expect(failure).toMatchObject({ class: 'unavailable', retryable: true });
  });

  it('is reported for an answer that is not one', async () => {
    const failure = await failWith({ body: { hello: 'world' } });
    expect(failure).toMatchObject({ code: 'MODEL_BAD_ANSWER', class: 'provider-error' });
  });
});

describe('a server that does not answer', () => {
  it('is left when the request is cancelled', async () => {
    const controller = new AbortController();
    server.answer({ hangs: true });
    const pending = provider.complete(requestOf({ signal: controller.signal }));
    await server.arrived;
    controller.abort();
    expect(failureOf(await pending)).toMatchObject({ class: 'cancelled', retryable: false });
    await server.closed;
  });

  it('is left at the deadline', async () => {
    server.answer({ hangs: true });
    const failure = failureOf(await provider.complete(requestOf({ deadlineAtMs: testNowMs + 50 })));
    expect(failure).toMatchObject({ class: 'timeout', retryable: true });
  });

  it('is not asked at all by a request that is cancelled or late already', async () => {
    const late = await provider.complete(requestOf({ deadlineAtMs: testNowMs - 1 }));
    const cancelled = await provider.complete(requestOf({ signal: AbortSignal.abort() }));
    expect([failureOf(late).class, failureOf(cancelled).class]).toEqual(['timeout', 'cancelled']);
    expect(server.requests).toHaveLength(0);
  });

  it('is unavailable if nothing listens there', async () => {
    const { url } = server;
    await server.stop();
    const failure = failureOf(await providerAt(url).complete(requestOf()));
    expect(failure).toMatchObject({ class: 'unavailable', retryable: true });
    expect(failure.fix).toContain('base URL');
  });
});

it('a name that is not one of a model is an invalid request', async () => {
  const failure = failureOf(await provider.complete(requestOf({ model: 'gpt-4o' })));
  expect(failure).toMatchObject({ class: 'invalid-request', retryable: false });
});
