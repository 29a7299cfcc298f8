/** Images and files of a conversation: the log names blobs, and the provider gets their bytes. */
import { expect, test } from 'vitest';
import { type Draft, event, json, type SeenEvent } from '../../../../schemas/event.ts';
import type { JsonValue } from '../../../../schemas/json.ts';
import { createMemoryBlobs } from '../../../../services/chassis/content/blobs.ts';
import { AnswerCache } from '../../../../services/model-gateway/answer-cache.ts';
import {
  callsToQuote,
  type ModelGatewayState,
  modelGatewayLogic,
} from '../../../../services/model-gateway/decide.ts';
import { createModelEffects } from '../../../../services/model-gateway/effects.ts';
import { breakerDefaults } from '../../../../services/model-gateway/gate/breaker.ts';
import { Gate } from '../../../../services/model-gateway/gate/gate.ts';
import type {
  ModelProvider,
  ModelRequest,
} from '../../../../services/model-gateway/providers/port.ts';
import { createScriptedProvider } from '../../../../services/model-gateway/providers/scripted.ts';
import { parseScriptedRules } from '../../../../services/model-gateway/providers/scripted-rules.ts';
import { BenchSession } from '../../../support/bench-session.ts';
import { modelAgent, newest, openWork } from '../../../support/work-fixtures.ts';

const nowMs = 1_000_000;
const rules = parseScriptedRules(`- { model: m, answer: '"A cat."' }`, 'rules');

/** Asks about one picture, within a budget; the answer, and what the provider was asked. */
async function asked(stored: Readonly<Record<string, string>>, blob = 'd1') {
  const requests: ModelRequest[] = [];
  const scripted = createScriptedProvider({ rules, file: 'rules', nowMs: () => nowMs });
  const provider: ModelProvider = {
    ...scripted,
    complete: (request) => {
      requests.push(request);
      return scripted.complete(request);
    },
  };
  const blobs = createMemoryBlobs();
  for (const [digest, text] of Object.entries(stored)) await blobs.put(digest, text);
  const effects = createModelEffects({
    ...{ providers: new Map([['scripted', provider]]), cache: new AnswerCache(), blobs },
    clock: { nowMs: () => nowMs, after: () => () => undefined },
    gate: new Gate({ providers: {}, tenants: {}, breaker: breakerDefaults }, () => undefined),
    countsTokens: () => true,
  });
  const facts = () => {
    const quoted = callsToQuote(bench.state<ModelGatewayState>('model-gateway'));
    const quotes = quoted.map(({ key, inputTokensMost }) => {
      return [key, { inputTokensMost, costNanoUsd: 1, known: true, priceVersion: 'p' }] as const;
    });
    return { facts: { providers: ['scripted'], quotes: Object.fromEntries(quotes) } };
  };
  const bench: BenchSession = new BenchSession([{ logic: modelGatewayLogic, facts }]);
  openWork(bench, { agents: [modelAgent()], budgetNanoUsd: 100 });
  const who = { call: 'call_1', agent: 'w.1', task: 'w', attempt: 1, step: 1, agentName: 'writer' };
  const data = { ...who, model: 'scripted/m', outputTokensMax: 9, timeoutMs: 1_000, tools: [] };
  const files = [{ mediaType: 'image/png', blob }];
  const messages = json([{ role: 'user', text: 'What is this?', files }] as JsonValue);
  bench.append([event('model.requested', data, { messages })], 'worker-pool:general');
  bench.settle();
  const claim = newest(bench.events, 'model.claimed') as SeenEvent;
  const job = effects.jobOf(claim, bench.state<ModelGatewayState>('model-gateway'), bench.meta);
  const control = { signal: new AbortController().signal, traceparent: '' };
  const outcome = (await job?.run(control)) as Draft;
  return { outcome, requests, events: bench.events };
}

test('the provider gets the bytes, and no event holds them', async () => {
  const { outcome, requests, events } = await asked({ d1: '"aGVsbG8="' });
  expect(outcome.type).toBe('model.completed');
  expect(requests[0]?.messages).toEqual([
    {
      ...{ role: 'user', text: 'What is this?' },
      files: [{ mediaType: 'image/png', blob: 'd1', base64: 'aGVsbG8=' }],
    },
  ]);
  expect(JSON.stringify([...events, outcome])).not.toContain('aGVsbG8');
  // An image takes tokens that its name does not show.
  expect(newest(events, 'budget.reserved').data.inputTokensMost).toBeGreaterThan(50_000);
});

test.each([
  ['is not there', {}, 'BLOB_MISSING'],
  ['holds no bytes', { d1: '{"not":"bytes"}' }, 'BLOB_INVALID'],
])(
  'a blob that %s fails the call for good, with what to do, before anything is sent',
  async (_, stored, code) => {
    const { outcome, requests } = await asked(stored as Readonly<Record<string, string>>);
    expect(outcome).toMatchObject({
      type: 'model.failed',
      data: { code, class: 'invalid-request', retryable: false },
    });
    expect(requests).toEqual([]);
  },
);
