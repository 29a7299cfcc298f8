/** The example of docs/models-and-budgets.md, with the files that stand there. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Draft, event, json, type SeenEvent } from '../../../schemas/event.ts';
import { loadCatalog } from '../../../services/chassis/catalog/load.ts';
import { createMemoryBlobs } from '../../../services/chassis/content/blobs.ts';
import { AnswerCache } from '../../../services/model-gateway/answer-cache.ts';
import { readModelConfig } from '../../../services/model-gateway/config.ts';
import {
  type ModelGatewayState,
  modelGatewayLogic,
} from '../../../services/model-gateway/decide.ts';
import { createModelEffects } from '../../../services/model-gateway/effects.ts';
import { GatewayHosts, hostedGate } from '../../../services/model-gateway/gate/hosts.ts';
import { gatherFacts } from '../../../services/model-gateway/gather.ts';
import { providerOf } from '../../../services/model-gateway/model-name.ts';
import { createProviders } from '../../../services/model-gateway/routes.ts';
import { BenchSession } from '../../support/bench-session.ts';
import { type ModelServer, startModelServer } from '../../support/model-server.ts';
import { listingOf, shownFile, shownListing } from '../../support/models-page.ts';
import { modelAgent, newest, openWork } from '../../support/work-fixtures.ts';

let directory: string;
let local: ModelServer;
let cloud: ModelServer;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'longrein-docs-'));
  [local, cloud] = [await startModelServer(), await startModelServer()];
});
afterAll(async () => {
  rmSync(directory, { recursive: true });
  await Promise.all([local.stop(), cloud.stop()]);
});

function place(name: string): string {
  const path = join(directory, name);
  const text = shownFile(name).replace('http://127.0.0.1:8080', local.url);
  writeFileSync(path, text.replace('http://127.0.0.1:8081', cloud.url));
  return path;
}

async function gateway() {
  const files = { LONGREIN_PROVIDERS_FILE: place('providers.yaml') };
  const config = readModelConfig({ ...files, LONGREIN_PRICES_FILE: place('prices.yaml') });
  const parts = { secret: () => 'sk-example-key-of-the-page', nowMs: () => 1_000_000 };
  const providers = await createProviders(config, parts);
  const hosts = new GatewayHosts();
  if (config.providers === undefined) throw new Error('the file was not read');
  const { gate } = hostedGate(config.providers.gate, hosts);
  gate.heard(1, 0);
  const acme = config.providers.dayBudgets['acme'];
  const { dayNanoUsd: limitNanoUsd = 0, trancheNanoUsd = 0 } = acme ?? {};
  const gather = {
    ...{ providers: [...providers.keys()], gate, hosts, countsTokens: () => true },
    dayBudget: () => ({ limitNanoUsd, trancheNanoUsd }),
    quote: (use: { model: string; inputTokensMost: number; outputTokensMax: number }) =>
      providers.get(providerOf(use.model))?.quote(use),
  };
  const clock = { nowMs: () => 1_000_000, after: () => () => undefined };
  const memory = { blobs: createMemoryBlobs(), cache: new AnswerCache() };
  const effects = createModelEffects({
    ...{ providers, clock, gate, countsTokens: () => true },
    ...memory,
  });
  return { gather, effects };
}

test('the example of the page happens as it stands there, and no key is in any event', async () => {
  const models = loadCatalog([directoryWith('models.yaml')]).catalog.models;
  const { gather, effects } = await gateway();
  local.answer({ status: 529, body: { error: { message: 'busy' } } });
  cloud.answer({
    body: {
      ...{ id: 'c', object: 'chat.completion', created: 1, model: 'large' },
      choices: [
        { index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' },
      ],
      usage: { prompt_tokens: 10, completion_tokens: 1 },
    },
  });
  const facts = () => {
    const { meta, nowMs, lost, openCalls } = bench;
    const at = { parts: gather, nowMs, lost, openCalls };
    return { facts: gatherFacts(bench.state('model-gateway'), meta, at) };
  };
  const bench: BenchSession = new BenchSession([{ logic: modelGatewayLogic, facts }]);
  openWork(bench, { agents: [modelAgent()], models });
  const who = { call: 'call_1', agent: 'w.1', task: 'w', attempt: 1, step: 1, agentName: 'writer' };
  const data = { ...who, model: 'fast', outputTokensMax: 8, timeoutMs: 60_000, tools: [] };
  const messages = json([{ role: 'user', text: 'Is it so?' }]);
  bench.append([event('model.requested', data, { messages })], 'worker-pool:writing');
  bench.settle();
  for (let tries = 0; tries < 2; tries += 1) {
    lend(bench);
    const claim = newest(bench.events, 'model.claimed') as SeenEvent;
    const job = effects.jobOf(claim, bench.state<ModelGatewayState>('model-gateway'), bench.meta);
    const control = { signal: new AbortController().signal, traceparent: '' };
    bench.input((await job?.run(control)) as Draft<'model.completed'>);
    bench.settle();
  }
  expect(listingOf(bench.events)).toBe(shownListing);
  expect(cloud.requests[0]?.headers.authorization).toBe('Bearer sk-example-key-of-the-page');
  expect(JSON.stringify(bench.events)).not.toContain('sk-example');
});

/** Plays the budget log: it has all that is asked. */
function lend(bench: BenchSession): void {
  const asked = bench.events.filter((one) => one.type === 'budget.requested').at(-1);
  const known = bench.events.filter((one) => one.type === 'budget.granted').length;
  if (asked?.type !== 'budget.requested' || known >= asked.data.number) return;
  const { budgetLog, number, askNanoUsd } = asked.data;
  bench.input(event('budget.granted', { budgetLog, number, lentNanoUsd: askNanoUsd }));
  bench.settle();
}

function directoryWith(name: string): string {
  place(name);
  return directory;
}
