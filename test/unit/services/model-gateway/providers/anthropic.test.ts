import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createPriceBook } from '../../../../../services/model-gateway/prices.ts';
import { createAnthropicProvider } from '../../../../../services/model-gateway/providers/anthropic.ts';
import type { ModelProvider } from '../../../../../services/model-gateway/providers/port.ts';
import {
  completedOf,
  failureOf,
  requestOf,
  testNowMs,
} from '../../../../support/model-requests.ts';
import { type ModelServer, startModelServer } from '../../../../support/model-server.ts';

const apiKey = 'sk-ant-0123456789abcdef';
const model = 'anthropic/claude-sonnet-4-5';
let server: ModelServer;
let provider: ModelProvider;

beforeEach(async () => {
  server = await startModelServer();
  provider = createAnthropicProvider({
    name: 'anthropic',
    baseUrl: `${server.url}/v1`,
    apiKey,
    keyVariable: 'ANTHROPIC_API_KEY',
    prices: createPriceBook(),
    nowMs: () => testNowMs,
  });
});

afterEach(async () => {
  await server.stop();
});

function message(content: readonly object[], more: object = {}): object {
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-4-5-20250929',
    content,
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 10, output_tokens: 5 },
    ...more,
  };
}

describe('a message', () => {
  it('gives text, usage and cost, with the cache inside the input', async () => {
    const usage = {
      input_tokens: 10,
      cache_read_input_tokens: 100,
      cache_creation_input_tokens: 20,
      output_tokens: 5,
    };
    server.answer({ body: message([{ type: 'text', text: 'Two.' }], { usage }) });
    const answer = completedOf(await provider.complete(requestOf({ model })));
    expect(answer.message).toEqual({ text: 'Two.', toolCalls: [] });
    expect(answer.model).toBe('claude-sonnet-4-5-20250929');
    expect(answer.usage).toEqual({
      inputTokens: 130,
      outputTokens: 5,
      cacheReadTokens: 100,
      cacheWriteTokens: 20,
      reasoningTokens: 0,
    });
    // 10 * 3 + 100 * 0.3 + 20 * 3.75 + 5 * 15 USD per million tokens
    expect(answer.cost).toMatchObject({ costNanoUsd: 210_000, known: true });
  });

  it('sends the key, the system text and the trace', async () => {
    server.answer({ body: message([{ type: 'text', text: 'ok' }]) });
    await provider.complete(requestOf({ model, traceparent: '00-aa-bb-01' }));
    const [request] = server.requests;
    expect(request?.path).toBe('/v1/messages');
    expect(request?.headers['x-api-key']).toBe(apiKey);
    expect(request?.headers.traceparent).toBe('00-aa-bb-01');
    expect(request?.body).toMatchObject({
      model: 'claude-sonnet-4-5',
      max_tokens: 200,
      system: [{ type: 'text', text: 'Be brief.' }],
      messages: [{ role: 'user', content: [{ type: 'text', text: 'How many?' }] }],
    });
  });

  it('takes system texts from anywhere in the conversation', async () => {
    server.answer({ body: message([{ type: 'text', text: 'ok' }]) });
    const messages = [
      { role: 'user', text: 'A' },
      { role: 'system', text: 'First.' },
      { role: 'system', text: 'Second.' },
    ] as const;
    completedOf(await provider.complete(requestOf({ model, messages })));
    expect(server.requests[0]?.body.system).toEqual([{ type: 'text', text: 'First.\n\nSecond.' }]);
  });
});

describe('tool calls', () => {
  it('come back with arguments, and go out again with signed reasoning and results', async () => {
    const tools = [{ name: 'files.read', description: '', inputSchema: { type: 'object' } }];
    const content = [
      { type: 'thinking', thinking: 'Look first.', signature: 'c2lnbmVk' },
      { type: 'tool_use', id: 'toolu_1', name: 'files_read', input: { path: 'a' } },
      { type: 'tool_use', id: 'toolu_2', name: 'files_read', input: { path: 'b' } },
    ];
    server.answer({ body: message(content, { stop_reason: 'tool_use' }) });
    const first = completedOf(await provider.complete(requestOf({ model, tools })));
    expect(first.finishReason).toBe('tool-calls');
    expect(first.message.toolCalls).toEqual([
      { id: 'toolu_1', name: 'files.read', arguments: { path: 'a' } },
      { id: 'toolu_2', name: 'files.read', arguments: { path: 'b' } },
    ]);
    const result = { role: 'tool', toolName: 'files.read' } as const;
    server.answer({ body: message([{ type: 'text', text: 'ok' }]) });
    await provider.complete(
      requestOf({
        model,
        tools,
        messages: [
          { role: 'user', text: 'Read.' },
          { role: 'assistant', ...first.message },
          { ...result, toolCallId: 'toolu_1', result: { lines: 3 }, isError: false },
          { ...result, toolCallId: 'toolu_2', result: { code: 'GONE' }, isError: true },
        ],
      }),
    );
    expect(server.requests[1]?.body.messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Read.' }] },
      { role: 'assistant', content },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'toolu_1', content: '{"lines":3}' },
          {
            type: 'tool_result',
            tool_use_id: 'toolu_2',
            content: '{"code":"GONE"}',
            is_error: true,
          },
        ],
      },
    ]);
  });
});

describe('a refusal', () => {
  it.each([
    [429, 'rate_limit_error', 'rate-limited', true],
    [529, 'overloaded_error', 'overloaded', true],
    [500, 'api_error', 'provider-error', true],
    [401, 'authentication_error', 'authentication', false],
    [400, 'invalid_request_error', 'invalid-request', false],
    [413, 'request_too_large', 'context-too-long', false],
  ])('with status %i and type %s is of class %s', async (status, type, expected, retryable) => {
    const body = { type: 'error', error: { type, message: `no ${apiKey}` } };
    server.answer({ status, headers: { 'retry-after': '2' }, body });
    const failure = failureOf(await provider.complete(requestOf({ model })));
    expect([failure.class, failure.retryable]).toEqual([expected, retryable]);
    expect(failure.retryAfterMs).toBe(2000);
    expect(JSON.stringify(failure)).not.toContain('0123456789');
  });
});

it('a request that is cancelled while it hangs ends as cancelled', async () => {
  const controller = new AbortController();
  server.answer({ hangs: true });
  const pending = provider.complete(requestOf({ model, signal: controller.signal }));
  await server.arrived;
  controller.abort();
  expect(failureOf(await pending).class).toBe('cancelled');
  await server.closed;
});
