/** Answers that come token by token, in the formats of both protocols, whole and broken. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createPriceBook } from '../../../../../services/model-gateway/prices.ts';
import { createAnthropicProvider } from '../../../../../services/model-gateway/providers/anthropic.ts';
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
import {
  type ModelServer,
  type ServerAnswer,
  startModelServer,
} from '../../../../support/model-server.ts';

let server: ModelServer;
beforeEach(async () => {
  server = await startModelServer();
});
afterEach(() => server.stop());

const data = (value: object): string => `data: ${JSON.stringify(value)}`;

const head = { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'gpt-4o' };
const chunk = (delta: object) =>
  data({ ...head, choices: [{ index: 0, delta, finish_reason: null }] });
const openaiEnd = [
  data({
    ...{ ...head, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    usage: { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 },
  }),
  'data: [DONE]',
];

const named = (type: string, rest: object = {}): string =>
  `event: ${type}\n${data({ type, ...rest })}`;
const anthropicText = [
  named('message_start', {
    message: {
      ...{ id: 'm1', type: 'message', role: 'assistant', model: 'claude-sonnet-4-5', content: [] },
      ...{ stop_reason: null, stop_sequence: null, usage: { input_tokens: 12, output_tokens: 1 } },
    },
  }),
  named('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
  named('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Tw' } }),
  named('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'o.' } }),
];
const anthropicEnd = [
  named('content_block_stop', { index: 0 }),
  named('message_delta', {
    delta: { stop_reason: 'end_turn', stop_sequence: null },
    usage: { output_tokens: 3 },
  }),
  named('message_stop'),
];

type Patience = Readonly<{ firstTokenMs?: number; silenceMs?: number }>;
type Case = Readonly<{
  name: string;
  model: string;
  text: readonly string[];
  end: readonly string[];
  make(patience?: Patience): ModelProvider;
}>;

const parts = () => ({ prices: createPriceBook(), nowMs: () => testNowMs, apiKey: 'sk-test' });
const protocols: readonly Case[] = [
  {
    ...{ name: 'openai', model: 'openai/gpt-4o', end: openaiEnd },
    text: [chunk({ role: 'assistant', content: 'Tw' }), chunk({ content: 'o.' })],
    make: (patience) => {
      const at = { name: 'openai', baseUrl: `${server.url}/v1`, ...patience };
      return createOpenAiCompatibleProvider({ ...parts(), ...at });
    },
  },
  {
    ...{ name: 'anthropic', model: 'anthropic/claude-sonnet-4-5', end: anthropicEnd },
    text: anthropicText,
    make: (patience) => {
      const at = { name: 'anthropic', baseUrl: `${server.url}/v1`, ...patience };
      return createAnthropicProvider({ ...parts(), ...at });
    },
  },
];

describe.each(protocols)('$name', ({ model, text, end, make }) => {
  async function ask(
    answer: ServerAnswer,
    changes: Partial<ModelRequest> = {},
    patience: Patience = {},
  ) {
    server.answer(answer);
    const told: string[] = [];
    const onText = (piece: string): void => {
      told.push(piece);
    };
    const outcome = await make(patience).complete(requestOf({ model, onText, ...changes }));
    return { outcome, told };
  }

  it('tells the text as it comes, and answers with all of it, its usage and its cost', async () => {
    const { outcome, told } = await ask({ stream: { events: [...text, ...end] } });
    const answer = completedOf(outcome);
    expect(told).toEqual(['Tw', 'o.']);
    expect(answer.message).toEqual({ text: 'Two.', toolCalls: [] });
    expect(answer).toMatchObject({ finishReason: 'stop', cost: { known: true } });
    expect(answer.usage).toMatchObject({ inputTokens: 12, outputTokens: 3 });
    expect(server.requests[0]?.body['stream']).toBe(true);
  });

  it.each([true, false])('a stream that breaks off is no answer (cut: %s)', async (cut) => {
    const { outcome } = await ask({ stream: { events: text, cut } });
    expect(failureOf(outcome)).toMatchObject({ code: 'MODEL_STREAM_CUT', retryable: true });
    // It was paid, and nobody knows how much.
    expect(outcome).toMatchObject({ cost: { known: false } });
  });

  it('a first token that does not come in time ends the request', async () => {
    const stream = { events: [...text, ...end], firstAfterMs: 5_000 };
    const { outcome } = await ask({ stream }, {}, { firstTokenMs: 100 });
    expect(failureOf(outcome)).toMatchObject({ code: 'MODEL_TIMEOUT', class: 'timeout' });
    expect(failureOf(outcome).fix).toContain('`firstTokenMs` of the provider');
    await server.closed;
  });

  it('an answer that breaks off into silence ends the request long before its deadline', async () => {
    const { outcome, told } = await ask(
      { stream: { events: text, hangs: true } },
      {},
      { silenceMs: 100 },
    );
    expect(told).toEqual(['Tw', 'o.']);
    expect(failureOf(outcome)).toMatchObject({
      code: 'MODEL_SILENT',
      class: 'timeout',
      retryable: true,
    });
    expect(outcome).toMatchObject({ cost: { known: false } });
    await server.closed;
  });

  it('a cancel closes the connection, also in the middle', async () => {
    const controller = new AbortController();
    const onText = () => controller.abort();
    const { outcome } = await ask(
      { stream: { events: text, hangs: true } },
      { onText, signal: controller.signal },
    );
    expect(failureOf(outcome)).toMatchObject({ code: 'MODEL_CANCELLED', class: 'cancelled' });
    await server.closed;
  });

  it.each([
    [401, 'authentication', false],
    [400, 'invalid-request', false],
    [429, 'rate-limited', true],
    [500, 'provider-error', true],
    [529, 'overloaded', true],
  ])('%i is classed as without a stream', async (status, kind, retryable) => {
    const headers = { 'retry-after': '2' };
    const { outcome } = await ask({ status, headers, body: { error: { message: 'no' } } });
    expect(failureOf(outcome)).toMatchObject({ class: kind, retryable, retryAfterMs: 2_000 });
  });

  it('what is no event stream is no answer', async () => {
    const { outcome } = await ask({ stream: { events: ['data: {"half":'] } });
    expect(failureOf(outcome)).toMatchObject({ class: 'provider-error', retryable: true });
  });

  it('is asked for JSON of a schema', async () => {
    const outputSchema = {
      ...{ type: 'object', properties: { n: { type: 'integer' } } },
      ...{ required: ['n'], additionalProperties: false },
    };
    await ask({ stream: { events: [...text, ...end] } }, { outputSchema });
    expect(JSON.stringify(server.requests[0]?.body)).toContain('"n":{"type":"integer"}');
  });

  it('sends images with the message that they belong to', async () => {
    const files = [{ mediaType: 'image/png', blob: 'd1', base64: 'aGVsbG8=' }];
    const messages = [{ role: 'user' as const, text: 'What is this?', files }];
    await ask({ stream: { events: [...text, ...end] } }, { messages });
    expect(JSON.stringify(server.requests[0]?.body['messages'])).toContain('aGVsbG8=');
  });
});

it('a server that cannot stream is asked for whole answers', async () => {
  const choice = {
    index: 0,
    message: { role: 'assistant', content: 'Two.' },
    finish_reason: 'stop',
  };
  server.answer({ body: { id: 'c', object: 'chat.completion', model: 'm', choices: [choice] } });
  const at = { name: 'openai', baseUrl: `${server.url}/v1`, stream: false };
  const told: string[] = [];
  const onText = (text: string): void => {
    told.push(text);
  };
  const provider = createOpenAiCompatibleProvider({ ...parts(), ...at });
  expect(completedOf(await provider.complete(requestOf({ onText }))).message.text).toBe('Two.');
  expect(server.requests[0]?.body['stream']).toBeUndefined();
  expect(told).toEqual([]);
});

it('tool calls of a stream come with whole arguments', async () => {
  const call = (fields: object) => chunk({ tool_calls: [{ index: 0, ...fields }] });
  const events = [
    call({ id: 'c1', type: 'function', function: { name: 'read', arguments: '{"pa' } }),
    call({ function: { arguments: 'th":"a"}' } }),
    ...openaiEnd.map((one) => one.replace('"stop"', '"tool_calls"')),
  ];
  server.answer({ stream: { events } });
  const tools = [{ name: 'read', description: 'Reads.', inputSchema: { type: 'object' } }];
  const outcome = await protocols[0]?.make({ firstTokenMs: 2_000 }).complete(requestOf({ tools }));
  expect(outcome).toMatchObject({
    kind: 'completed',
    message: { toolCalls: [{ id: 'c1', name: 'read', arguments: { path: 'a' } }] },
  });
});
