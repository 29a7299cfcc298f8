import { expect, it } from 'vitest';
import type { StreamPart } from '../../../../../services/model-gateway/providers/call-ids.ts';
import { StreamedAnswer } from '../../../../../services/model-gateway/providers/streamed-answer.ts';

const usage = {
  inputTokens: { total: 7, noCache: 7, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 3, text: 3, reasoning: 0 },
};
const finish: StreamPart = {
  type: 'finish',
  usage,
  finishReason: { unified: 'stop', raw: 'stop' },
};
const call = (toolCallId: string, input: string): StreamPart => ({
  ...{ type: 'tool-call', toolCallId, toolName: 'look', input },
});

function whole(...parts: StreamPart[]) {
  const answer = new StreamedAnswer('asked');
  for (const part of parts) answer.take(part);
  return answer.whole();
}

const textOf = (delta: string): StreamPart => ({ type: 'text-delta', id: '1', delta });

it('puts texts together, and names the model that was asked where the answer names none', () => {
  const answer = whole(textOf('a'), textOf('b'), finish);
  expect(answer).toMatchObject({
    text: 'ab',
    finishReason: 'stop',
    usage: { inputTokens: 7, outputTokens: 3 },
    response: { modelId: 'asked' },
  });
  const named = whole({ type: 'response-metadata', modelId: 'served' }, finish);
  expect(named?.response.modelId).toBe('served');
});

it('is no answer before the provider said why it ended', () => {
  expect(whole(textOf('a'))).toBeUndefined();
  const silent = { unified: 'other', raw: undefined } as const;
  expect(whole(textOf('a'), { ...finish, finishReason: silent })).toBeUndefined();
});

it('keeps arguments as they were written where they are no JSON, or would change a prototype', () => {
  const proto = '{"__proto__":{"a":1}}';
  const escaped = '{"\\u005f_proto__":{"a":1}}';
  const inputs = ['{"a":"\\u005f_"}', '', '{"a":', proto, escaped];
  const answer = whole(...inputs.map((input, at) => call(`c${at}`, input)), finish);
  expect(answer?.toolCalls.map(({ input }) => input)).toEqual([
    { a: '__' },
    {},
    '{"a":',
    proto,
    escaped,
  ]);
});

it('tells calls apart that came with one id, or with none', () => {
  const answer = whole(call('x', '{}'), call('x', '{}'), call('', '{}'), finish);
  expect(answer?.toolCalls.map(({ toolCallId }) => toolCallId)).toEqual(['x', 'x_2', 'call']);
});

it('keeps reasoning by its part, with the newest that has to come back with it', () => {
  const signed = { anthropic: { signature: 'of it' } };
  const answer = whole(
    { type: 'reasoning-start', id: 'r' },
    { type: 'reasoning-delta', id: 'r', delta: 'be' },
    { type: 'reasoning-delta', id: 'other', delta: 'else' },
    { type: 'reasoning-delta', id: 'r', delta: 'cause' },
    { type: 'reasoning-end', id: 'r', providerMetadata: signed },
    finish,
  );
  expect(answer?.reasoning).toEqual([
    { text: 'because', providerMetadata: signed },
    { text: 'else', providerMetadata: undefined },
  ]);
});
