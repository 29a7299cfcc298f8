import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SeenEvent } from '../../../schemas/event.ts';
import type { ModelTokens } from '../../../schemas/tokens.ts';
import { createDirectoryBlobs } from '../../../services/chassis/content/blobs.ts';
import { putFile } from '../../../services/chassis/content/files.ts';
import { sessionId } from '../../../services/chassis/protocol/ids.ts';
import { Harness } from '../../../services/client/index.ts';
import { temporaryCatalog } from '../../support/document-files.ts';
import { GoalDesk, type Result } from '../../support/goal-desk.ts';
import { LiveHost } from '../../support/live-hosts.ts';
import { stackUnderTest } from '../../support/live-stack.ts';
import { ProviderStub } from '../../support/provider-stub.ts';
import { SessionLogs } from '../../support/session-log.ts';
import { expectVerified } from '../../support/session-proof.ts';

/**
 * The model gateway on a real broker: two hosts share a provider's limits, one is killed; fallback and breaker; budgets of
 * sessions and of a tenant's day; what a follower sees. All of it at once, against one server that counts.
 */

const callMs = 300;
const stub = new ProviderStub({
  capped: { takesMs: callMs },
  paced: {},
  broken: { status: 529 },
  spare: {},
  paid: {},
  daily: {},
  vectors: {},
  eye: { words: ['A cat.'] },
  slow: { takesMs: 2_500, words: ['Slowly', ' but', ' surely', ' it', ' comes.'] },
});
const perCallNanoUsd = 100_000;
const dayCalls = 20;
const concurrentMax = 4;
const requestsPerMinute = 10;

const models = ['capped', 'paced', 'routed', 'paid', 'daily', 'slow'];

function agent(model: string): string {
  return [
    'kind: model',
    `name: ask-${model}`,
    'version: 1.0.0',
    'description: Asks once.',
    'role: tester',
    `model: ${model}`,
    'prompt: =$string(input.number)',
    `outputTokensMax: 100`,
    `modelTimeoutMs: ${model === 'paced' ? 4_000 : 120_000}`,
    'modelAttemptsMax: 1',
  ].join('\n');
}

const task = (id: string, model: string): string => `  - id: ${id}
    pool: asking
    agent: ask-${model}
    attemptsMax: 1
    timeoutMs: 240000
    fanOut: { over: =inputs.numbers, itemsMax: 64, parallelMax: ${model === 'routed' ? 1 : 64}, onBranchFailure: continue }
    input: { number: =item }
`;

/** A fan-out as wide as fifty would be split into sessions of its own: where that matters there are two. */
const plan = (model: string): string => `name: ask-${model}
version: 1.0.0
description: Asks as often as there are numbers.
inputs:
  numbers: { type: array, description: One question each. }
tasks:
${task('ask', model)}${model === 'paid' ? task('ask-more', model) : ''}output: { kind: collect }
`;

const embedder = `kind: procedure
name: embedder
version: 1.0.0
description: Gives vectors.
role: tester
tools: []
steps:
  - { id: first, embed: { model: open/vectors, texts: =input.texts, cacheMs: 60000 } }
  - { id: again, embed: { model: open/vectors, texts: =input.texts, cacheMs: 60000 } }
output:
  first: =steps.first.vectors[0]
  again: =steps.again.vectors[1]
`;

const embedPlan = `name: embed
version: 1.0.0
description: Gives vectors.
inputs:
  texts: { type: array, description: Texts. }
tasks:
  - { id: embed, pool: asking, agent: embedder, attemptsMax: 1, input: { texts: =inputs.texts } }
output: { kind: collect }
`;

const looker = `kind: model
name: looker
version: 1.0.0
description: Says what is on a picture.
role: tester
model: open/eye
prompt: What is this?
files: =input.pictures
`;

const lookPlan = `name: look
version: 1.0.0
description: Says what is on a picture.
inputs:
  pictures: { type: array, description: As "longrein file put" prints them. }
tasks:
  - { id: look, pool: asking, agent: looker, attemptsMax: 1, input: { pictures: =inputs.pictures } }
output: { kind: collect }
`;

function filesOf(url: string): Record<string, string> {
  return {
    'providers.yaml': `providers:
  capped: { baseUrl: ${url}, concurrentMax: ${concurrentMax} }
  paced: { baseUrl: ${url}, requestsPerMinute: ${requestsPerMinute} }
  open: { baseUrl: ${url} }
tenants:
  thrifty: { dayBudgetNanoUsd: ${dayCalls * perCallNanoUsd}, trancheNanoUsd: ${perCallNanoUsd} }
breaker: { failuresMax: 3, coolMs: 300000 }
`,
    'prices.yaml': `open/*: { inputNanoUsdPerMTokens: 0, outputNanoUsdPerMTokens: 1000000000 }
open/vectors: { inputNanoUsdPerMTokens: 1000000000, outputNanoUsdPerMTokens: 0 }
`,
    'models.yaml': `capped: capped/capped
paced: paced/paced
routed: [open/broken, open/spare]
paid: open/paid
daily: open/daily
slow: open/slow
`,
    'agents/looker.yaml': looker,
    'plans/look.yaml': lookPlan,
    'agents/embedder.yaml': embedder,
    'plans/embed.yaml': embedPlan,
    'pools.yaml': '- { name: asking, description: Asks models., concurrencyMax: 500 }\n',
    ...Object.fromEntries(models.map((model) => [`agents/ask-${model}.yaml`, agent(model)])),
    ...Object.fromEntries(models.map((model) => [`plans/ask-${model}.yaml`, plan(model)])),
  };
}

const stack = stackUnderTest();
let catalog: ReturnType<typeof temporaryCatalog>;
let hosts: readonly LiveHost[];
let desk: GoalDesk;
let logs: SessionLogs;
let harness: Harness;

const numbers = (count: number): number[] => Array.from({ length: count }, (_, at) => at);

const ask = (model: string, count: number, more: object = {}): Promise<string> =>
  desk.submit({ plan: `ask-${model}`, inputs: { numbers: numbers(count) }, ...more });

/** Machines that run tests are slow at times. */
const resultOf = (goal: string): Promise<Result> => desk.result(goal, 180_000);

async function eventsOf({ session }: Result): Promise<readonly SeenEvent[]> {
  return (await logs.closed(session, 90_000)).events;
}

const codesOf = (events: readonly SeenEvent[]): string[] =>
  events.flatMap((one) => (one.type === 'model.denied' ? [one.data.code] : []));

const completedIn = (events: readonly SeenEvent[]): number =>
  events.filter(({ type }) => type === 'model.completed').length;

beforeAll(async () => {
  catalog = temporaryCatalog(filesOf(await stub.start()));
  const env = {
    LONGREIN_PROVIDERS_FILE: join(catalog.path, 'providers.yaml'),
    LONGREIN_PRICES_FILE: join(catalog.path, 'prices.yaml'),
  };
  const options = { stack, eventStore: false, catalog: [catalog.path], env };
  hosts = [new LiveHost(options), new LiveHost(options)];
  await Promise.all(hosts.map((host) => host.ready()));
  desk = await GoalDesk.open(stack);
  logs = await SessionLogs.open(stack);
  harness = new Harness({ brokers: stack.brokers });
});

afterAll(async () => {
  await harness.close();
  await logs.close();
  await desk.close();
  await Promise.all(hosts.map((host) => host.remove()));
  await stub.stop();
  catalog.remove();
});

describe('two gateway hosts', () => {
  it('hold fifty calls at once to a budget for five', async () => {
    const goal = await ask('paid', 25, { budgetNanoUsd: 5 * perCallNanoUsd });
    const events = await eventsOf(await resultOf(goal));
    expect(stub.of('paid')).toHaveLength(5);
    expect(completedIn(events)).toBe(5);
    const spent = events.flatMap((one) =>
      one.type === 'model.completed' ? [one.data.costNanoUsd] : [],
    );
    expect(spent.reduce((sum, one) => sum + one, 0)).toBe(5 * perCallNanoUsd);
    expect(codesOf(events)).toEqual(Array.from({ length: 45 }, () => 'BUDGET_EXHAUSTED'));
  });

  it('go on with the next model while the first is overloaded, and leave it alone after that', async () => {
    const result = await resultOf(await ask('routed', 8));
    const events = await eventsOf(result);
    expect(completedIn(events)).toBe(8);
    expect(stub.of('broken')).toHaveLength(3);
    const passedOver = events.flatMap((one) =>
      one.type === 'model.claimed' ? (one.data.passedOver ?? []).map(({ because }) => because) : [],
    );
    expect(passedOver.filter((one) => one === 'failed')).toHaveLength(3);
    expect(passedOver.filter((one) => one === 'breaker-open')).toHaveLength(5);
    await expectVerified(stack, [result.session]);
  });

  it('never let fifty sessions of one tenant spend more than its day', async () => {
    const goals = await Promise.all(numbers(50).map(() => ask('daily', 1, { tenant: 'thrifty' })));
    const results = await Promise.all(goals.map((goal) => resultOf(goal)));
    const all = await Promise.all(results.map(eventsOf));
    const denied = all.flatMap(codesOf);
    expect(stub.of('daily')).toHaveLength(dayCalls);
    expect(all.map(completedIn).reduce((sum, one) => sum + one, 0)).toBe(dayCalls);
    expect(denied).toEqual(Array.from({ length: 50 - dayCalls }, () => 'TENANT_BUDGET_EXHAUSTED'));
  });

  it('give vectors within a budget, and equal ones again for nothing', async () => {
    const inputs = { texts: ['one', 'three'] };
    const result = await resultOf(await desk.submit({ plan: 'embed', inputs, budgetNanoUsd: 9e6 }));
    expect(result).toMatchObject({
      status: 'completed',
      output: { embed: { first: [3, 1], again: [5, 1] } },
    });
    expect(stub.of('vectors')).toHaveLength(1);
    const events = await eventsOf(result);
    const held = events.flatMap((one) => (one.type === 'budget.reserved' ? [one.data] : []));
    const paid = events.flatMap((one) => (one.type === 'model.completed' ? [one.data] : []));
    expect(held.every(({ reservedNanoUsd }) => reservedNanoUsd > 0)).toBe(true);
    expect(paid.map(({ embeds, dimensions }) => [embeds, dimensions])).toEqual([
      [2, 2],
      [2, 2],
    ]);
    expect(paid.map(({ costNanoUsd, cached = false }) => [costNanoUsd, cached])).toEqual([
      [2_000, false],
      [0, true],
    ]);
    await expectVerified(stack, [result.session]);
  });

  it('send a picture that the input names by its blob; its bytes are in no event', async () => {
    const bytes = Buffer.from('the bytes of a picture');
    const kept = await putFile(createDirectoryBlobs(stack.blobDir), {
      mediaType: 'image/png',
      bytes,
    });
    const inputs = { pictures: [kept] };
    const result = await resultOf(await desk.submit({ plan: 'look', inputs, budgetNanoUsd: 9e9 }));
    expect(result).toMatchObject({ status: 'completed', output: { look: 'A cat.' } });
    const encoded = bytes.toString('base64');
    expect(JSON.stringify(stub.of('eye')[0]?.messages)).toContain(
      `data:image/png;base64,${encoded}`,
    );
    const events = JSON.stringify(await eventsOf(result));
    expect(events).toContain(kept.blob);
    expect(events).not.toContain(encoded);
    await expectVerified(stack, [result.session]);
  });

  it('show a follower what a model says, and the record has the whole of it', async () => {
    const heard: ModelTokens[] = [];
    const pieces = async (id: string, onTokens?: (tokens: ModelTokens) => void) => {
      const run = { plan: 'ask-slow', inputs: { numbers: [1] }, id };
      return harness.run({ ...run, ...(onTokens === undefined ? {} : { onTokens }) });
    };
    const id = `slow-${hosts[0]?.name}`;
    const result = await pieces(id, (tokens) => heard.push(tokens));
    const session = sessionId('default', '', id);
    expect(heard.length).toBeGreaterThan(0);
    expect(heard[0]).toMatchObject({ session, model: 'open/slow', at: 0, claim: 1, try: 1 });
    const whole = 'Slowly but surely it comes.';
    expect(whole.startsWith(heard.map(({ text }) => text).join(''))).toBe(true);
    expect(result.output).toEqual({ ask: [whole] });
    // Who comes late hears nothing and misses nothing.
    await sleep(1_000);
    const late: ModelTokens[] = [];
    const again = await pieces(id, (tokens) => late.push(tokens));
    expect(again.output).toEqual(result.output);
    expect(late).toEqual([]);
    await expectVerified(stack, [session]);
  });
});

describe('a gateway host that is killed', () => {
  it('keeps a provider’s limits with the other one, and the one that is left takes no more than its part', async () => {
    const paced = await Promise.all([ask('paced', 8), ask('paced', 8), ask('paced', 8)]);
    const capped = await Promise.all(numbers(4).map(() => ask('capped', 10)));
    while (stub.of('capped').length < 8) await sleep(20);
    await hosts[0]?.kill();
    paced.push(await ask('paced', 8));
    const results = await Promise.all([...paced, ...capped].map((goal) => resultOf(goal)));
    const all = await Promise.all(results.map(eventsOf));
    // Each host has a part of its own, and the one that is left takes no more than that for a minute.
    expect(stub.of('paced').length).toBeGreaterThanOrEqual(requestsPerMinute / 2);
    expect(stub.mostWithin('paced', 60_000)).toBeLessThanOrEqual(requestsPerMinute);
    const limited = all.slice(0, paced.length).flatMap(codesOf);
    expect(new Set(limited)).toEqual(new Set(['MODEL_RATE_LIMITED']));
    expect(stub.mostAtOnce('capped')).toBeLessThanOrEqual(concurrentMax);
    expect(all.slice(paced.length).map(completedIn)).toEqual([10, 10, 10, 10]);
  });
});
