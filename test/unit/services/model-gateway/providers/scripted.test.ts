import { describe, expect, it } from 'vitest';
import type { ModelProvider } from '../../../../../services/model-gateway/providers/port.ts';
import { createScriptedProvider } from '../../../../../services/model-gateway/providers/scripted.ts';
import { parseScriptedRules } from '../../../../../services/model-gateway/providers/scripted-rules.ts';
import {
  completedOf,
  failureOf,
  requestOf,
  testNowMs,
} from '../../../../support/model-requests.ts';

const model = 'scripted/demo';

function providerOf(yaml: string): ModelProvider {
  const file = 'models.yaml';
  return createScriptedProvider({
    rules: parseScriptedRules(yaml, file),
    file,
    nowMs: () => testNowMs,
  });
}

const loop = providerOf(`
- model: demo
  when: step = 0
  answer: '{"toolCalls": [{"name": tools[0].name, "arguments": {"path": input.path}}]}'
- model: demo
  when: messages[-1].role = "tool"
  answer: '"The file has " & messages[-1].result.lines & " lines."'
`);

describe('a scripted answer', () => {
  it('is computed from the input and the conversation', async () => {
    const tools = [{ name: 'files.read', description: '', inputSchema: { type: 'object' } }];
    const input = { path: 'package-lock.json' };
    const first = completedOf(await loop.complete(requestOf({ model, tools, input })));
    expect(first.finishReason).toBe('tool-calls');
    expect(first.message.toolCalls).toEqual([
      { id: 'session-1-call-2-0', name: 'files.read', arguments: { path: 'package-lock.json' } },
    ]);
    const messages = [
      { role: 'user', text: 'How many?' },
      { role: 'assistant', ...first.message },
      {
        role: 'tool',
        toolCallId: 'session-1-call-2-0',
        toolName: 'files.read',
        result: { lines: 3 },
        isError: false,
      },
    ] as const;
    const second = completedOf(await loop.complete(requestOf({ model, messages })));
    expect(second.message).toEqual({ text: 'The file has 3 lines.', toolCalls: [] });
    expect(second.finishReason).toBe('stop');
  });

  it('is the same each time', async () => {
    const request = requestOf({ model, tools: [] });
    expect(await loop.complete(request)).toEqual(await loop.complete(request));
  });

  it('counts tokens as characters/4, rounded up, and costs nothing', async () => {
    const provider = providerOf(`- { model: demo, answer: '"nine char"' }`);
    const request = requestOf({ model, messages: [{ role: 'user', text: 'x' }] });
    const answer = completedOf(await provider.complete(request));
    const input = Math.ceil('[{"role":"user","text":"x"}]'.length / 4);
    expect(answer.usage).toMatchObject({ inputTokens: input, outputTokens: 3 });
    expect(answer.cost).toEqual({ costNanoUsd: 0, known: true, priceVersion: 'scripted' });
    expect([answer.provider, answer.model]).toEqual(['scripted', 'demo']);
  });

  it('is cut at the limit of output tokens', async () => {
    const provider = providerOf(`- { model: demo, answer: '"0123456789"' }`);
    const answer = completedOf(await provider.complete(requestOf({ model, outputTokensMax: 2 })));
    expect(answer).toMatchObject({
      finishReason: 'length',
      message: { text: '01234567' },
      usage: { outputTokens: 2 },
    });
  });

  it('may be written without an expression, with its own count of tokens', async () => {
    const provider = providerOf(`
- model: '*'
  answer: { text: Hello., toolCalls: [{ name: clock }] }
  outputTokens: 42
`);
    const answer = completedOf(await provider.complete(requestOf({ model: 'scripted/any' })));
    expect(answer.message).toEqual({
      text: 'Hello.',
      toolCalls: [{ id: 'session-1-call-2-0', name: 'clock', arguments: {} }],
    });
    expect(answer.usage.outputTokens).toBe(42);
  });

  it('comes from the first rule that fits the model and the condition', async () => {
    const provider = providerOf(`
- { model: other, answer: '"other"' }
- { model: scripted/demo, when: '[]', answer: '"empty"' }
- { model: demo, when: 'messages[text ~> /many/]', answer: '"many"' }
- { model: demo, answer: '"last"' }
`);
    expect(completedOf(await provider.complete(requestOf({ model }))).message.text).toBe('many');
  });
});

describe('a scripted failure', () => {
  it('is what the rule says, with sensible defaults', async () => {
    const provider = providerOf(`
- { model: slow, failure: { class: rate-limited, retryAfterMs: 1500 } }
- { model: bad, failure: { class: invalid-request, code: BAD, message: no, retryable: true } }
`);
    const [slow, bad] = [
      failureOf(await provider.complete(requestOf({ model: 'scripted/slow' }))),
      failureOf(await provider.complete(requestOf({ model: 'scripted/bad' }))),
    ];
    expect(slow).toMatchObject({
      code: 'MODEL_RATE_LIMITED',
      class: 'rate-limited',
      retryable: true,
      retryAfterMs: 1500,
    });
    expect(bad).toEqual({ code: 'BAD', message: 'no', class: 'invalid-request', retryable: true });
  });

  it('is a conversation that no rule fits; it names the file', async () => {
    const failure = failureOf(await loop.complete(requestOf({ model: 'scripted/unknown' })));
    expect(failure).toMatchObject({ class: 'invalid-request', retryable: false });
    expect(failure.fix).toContain('models.yaml');
  });

  it.each(['42', 'missing', '{"txt": "x"}', '{"toolCalls": [{"arguments": {}}]}'])(
    'is an answer of another shape: %s',
    async (answer) => {
      const provider = providerOf(`- { model: demo, answer: '${answer}' }`);
      const failure = failureOf(await provider.complete(requestOf({ model })));
      expect(failure).toMatchObject({ code: 'SCRIPTED_ANSWER_INVALID', retryable: false });
      expect(failure.message).toContain('models.yaml, rule 1');
    },
  );

  it('is an expression that fails', async () => {
    const provider = providerOf(`- { model: demo, answer: '$error("no total")' }`);
    const failure = failureOf(await provider.complete(requestOf({ model })));
    expect(failure).toMatchObject({ code: 'EXPRESSION_FAILED', class: 'invalid-request' });
    expect(failure.message).toContain('models.yaml, rule 1, answer');
  });
});

describe('a delay', () => {
  const provider = providerOf(`- { model: demo, answer: '"late"', delayMs: 600000 }`);

  it('ends when the request is cancelled', async () => {
    const controller = new AbortController();
    const pending = provider.complete(requestOf({ model, signal: controller.signal }));
    controller.abort();
    expect(failureOf(await pending).class).toBe('cancelled');
  });

  it('ends at the deadline', async () => {
    const request = requestOf({ model, deadlineAtMs: testNowMs + 5 });
    expect(failureOf(await provider.complete(request)).class).toBe('timeout');
  });

  it('does not begin for a request that is cancelled already', async () => {
    const request = requestOf({ model, signal: AbortSignal.abort() });
    expect(failureOf(await provider.complete(request)).class).toBe('cancelled');
  });
});

describe('a file of rules', () => {
  function errorOf(yaml: string): string {
    try {
      parseScriptedRules(yaml, 'models.yaml');
    } catch (thrown) {
      return thrown instanceof Error ? thrown.message : '';
    }
    return '';
  }

  it.each([
    ['a: 1', /^models\.yaml:1:.*array/],
    ['- model: demo\n  answer: "1"\n- model: demo\n  anwser: x', /^models\.yaml:4: 1\.anwser:/],
    ['- model: demo\n  answer: "1"\n  delayMs: soon', /^models\.yaml:3: 0\.delayMs:/],
    ['- model: demo', /an answer or a failure/],
    ['- model: demo\n  answer: "1"\n  failure: { class: timeout }', /an answer or a failure/],
    ['- model: demo\n  failure: { class: tired }', /^models\.yaml:2: 0\.failure\.class:/],
    ['- model: demo\n  answer: "{"', /models\.yaml, rule 1, answer/],
    ['- model: demo\n  answer: $random()', /models\.yaml, rule 1, answer.*\$random/],
    ['- [', /^models\.yaml: .* at line 1/],
  ])('with a mistake is refused with its place: %j', (yaml, expected) => {
    expect(errorOf(yaml)).toMatch(expected);
  });
});
