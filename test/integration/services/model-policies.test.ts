import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SeenEvent } from '../../../schemas/event.ts';
import { Harness } from '../../../services/client/index.ts';
import { filesOfDocument, temporaryCatalog } from '../../support/document-files.ts';
import { GoalDesk } from '../../support/goal-desk.ts';
import { LiveHost } from '../../support/live-hosts.ts';
import { fixture, stackUnderTest } from '../../support/live-stack.ts';
import { listingOf, shownFile, shownListing } from '../../support/models-page.ts';
import { ProviderStub } from '../../support/provider-stub.ts';
import { SessionLogs } from '../../support/session-log.ts';
import { expectVerified } from '../../support/session-proof.ts';
import { eventsOf } from '../../support/work-fixtures.ts';

/**
 * What becomes of a model call on a real broker: faults of providers, what an agent does over its budget, and the example of
 * docs/models-and-budgets.md with its own files. One host, one server that answers in the way of the model's name.
 */

const pageKey = 'sk-example-key-of-the-page';
const wrongKey = 'sk-this-key-is-the-wrong-one';
const patienceMs = 1_000;
const modelTimeoutMs = 30_000;
const perCallNanoUsd = 100_000;

const stub = new ProviderStub({
  small: { status: 529 },
  large: { outputTokens: 1, key: pageKey },
  bad: { status: 400 },
  limited: { status: 429, retryAfterSeconds: 2 },
  broken: { status: 500 },
  cut: { fault: 'cut' },
  malformed: { fault: 'malformed' },
  garbled: { fault: 'garbled' },
  slow: { fault: 'slow' },
  silent: { fault: 'silent' },
  locked: { key: 'another' },
  ...{ dear: {}, cheap: {}, asks: {}, unpriced: {}, narrow: {}, kept: {} },
  circling: { tool: 'test_echo' },
});

type Fault = Readonly<{
  name: string;
  model: string;
  code: string;
  class: string;
  /** Requests that reach the server. */
  requests: number;
  /** Its cost is unknown: the provider may have worked for it. */
  maybePaid?: boolean;
  /** No sooner than this from the first request to the end. */
  leastMs?: number;
}>;

const timeout = { class: 'timeout', maybePaid: true, leastMs: patienceMs, requests: 1 } as const;
const providerError = { class: 'provider-error', maybePaid: true, requests: 1 } as const;
const badAnswer = { ...providerError, code: 'MODEL_BAD_ANSWER' };

const faults: readonly Fault[] = [
  {
    ...{ name: 'a request that is wrong (400)', model: 'stub/bad', requests: 1 },
    ...{ code: 'MODEL_INVALID_REQUEST', class: 'invalid-request' },
  },
  {
    ...{ name: 'too many requests (429 with retry-after)', model: 'stub/limited', requests: 2 },
    ...{ code: 'MODEL_RATE_LIMITED', class: 'rate-limited', leastMs: 2_000 },
  },
  {
    name: 'an error of the server (500)',
    model: 'stub/broken',
    code: 'MODEL_PROVIDER_ERROR',
    ...providerError,
  },
  { name: 'a stream that is cut', model: 'stub/cut', code: 'MODEL_STREAM_CUT', ...providerError },
  { name: 'a stream of malformed JSON', model: 'stub/malformed', ...badAnswer },
  { name: 'a whole answer of malformed JSON', model: 'whole/garbled', ...badAnswer },
  {
    name: 'a first byte that does not come',
    model: 'hasty/slow',
    code: 'MODEL_TIMEOUT',
    ...timeout,
  },
  {
    name: 'silence in the middle of an answer',
    model: 'hasty/silent',
    code: 'MODEL_SILENT',
    ...timeout,
  },
  {
    ...{ name: 'a server that is not there', model: 'down/any', requests: 0 },
    ...{ code: 'MODEL_UNAVAILABLE', class: 'unavailable' },
  },
  {
    ...{ name: 'a wrong key', model: 'guarded/locked', requests: 1 },
    ...{ code: 'MODEL_AUTHENTICATION', class: 'authentication' },
  },
];

const agent = (model: string, more: object = {}) => ({
  ...{ kind: 'model', version: '1.0.0', description: 'Asks.', role: 'tester', model },
  ...{ prompt: '=$string(input.said)', outputTokensMax: 100, modelTimeoutMs, modelAttemptsMax: 1 },
  ...more,
});

const faultName = ({ model }: Fault): string => `fault-${model.replace('/', '-')}`;

const agents: Readonly<Record<string, object>> = {
  ...Object.fromEntries(
    faults.map((one) => [
      faultName(one),
      agent(one.model, { modelAttemptsMax: Math.max(1, one.requests) }),
    ]),
  ),
  page: agent('fast', { prompt: 'Is it so?', outputTokensMax: 8 }),
  thrifty: agent('stub/dear', { onError: { models: ['stub/cheap'] } }),
  asks: agent('stub/asks', { onError: { budgetAskNanoUsd: 2 * perCallNanoUsd } }),
  unpriced: agent('bare/unpriced'),
  narrow: agent('narrow/narrow', { modelTimeoutMs: 10_000 }),
  kept: agent('stub/kept', { answerCacheMs: 60_000 }),
  circling: agent('stub/circling', { tools: ['test.echo'], repeatsMax: 3 }),
};

const plan = (name: string) => ({
  ...{ name: `ask-${name}`, version: '1.0.0', description: 'Asks once, or once of each.' },
  inputs: { said: { type: 'string', description: 'What is said.' } },
  tasks: [
    {
      ...{ id: 'ask', pool: 'research', agent: name, attemptsMax: 1, timeoutMs: 120_000 },
      input: { said: '=inputs.said' },
      ...(name === 'narrow'
        ? { fanOut: { over: '=[1..6]', onBranchFailure: 'continue' }, input: { said: '=item' } }
        : {}),
    },
  ],
  output: { kind: 'collect' },
});

/** A port that was free a moment ago: nobody listens there. */
async function urlOfNobody(): Promise<string> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  await new Promise<void>((done) => server.close(() => done()));
  if (address === null || typeof address === 'string') throw new Error('no port was free');
  return `http://127.0.0.1:${address.port}/v1`;
}

/** The files of the page, with servers, prices and agents of ours beside them. */
function filesOf(url: string, downUrl: string): Record<string, string> {
  const providers = `providers:
  stub: { baseUrl: ${url} }
  bare: { baseUrl: ${url} }
  whole: { baseUrl: ${url}, stream: false }
  hasty: { baseUrl: ${url}, firstTokenMs: ${patienceMs}, silenceMs: ${patienceMs} }
  narrow: { baseUrl: ${url}, tokensPerMinute: 250 }
  guarded: { baseUrl: ${url}, key: { env: WRONG_KEY } }
  down: { baseUrl: ${downUrl} }
`;
  const free = '{ inputNanoUsdPerMTokens: 0, outputNanoUsdPerMTokens: 1000000000 }';
  const priced = ['stub', 'whole', 'hasty', 'narrow', 'guarded', 'down'];
  const prices = priced.map((name) => `${name}/*: ${free}\n`).join('');
  const dear = 'stub/dear: { inputNanoUsdPerMTokens: 0, outputNanoUsdPerMTokens: 10000000000 }\n';
  return {
    ...filesOfDocument('docs/models-and-budgets.md'),
    'providers.yaml': shownFile('providers.yaml')
      .replace(/http:\/\/127\.0\.0\.1:808[01]\/v1/g, url)
      .replace('providers:\n', providers),
    'prices.yaml': shownFile('prices.yaml') + dear + prices,
    'models.yaml': shownFile('models.yaml'),
    'pools.yaml': '- { name: research, description: Asks models. }\n',
    // A provider of scripts is there where a catalog has one.
    'scripts/nobody.yaml': `- { model: nobody, answer: '"No."' }\n`,
    'tools/test.echo.yaml': readFileSync(fixture('catalog/tools/test.echo.yaml'), 'utf8'),
    ...Object.fromEntries(
      Object.entries(agents).flatMap(([name, one]) => [
        [`agents/${name}.yaml`, JSON.stringify({ name, ...one })],
        [`plans/ask-${name}.yaml`, JSON.stringify(plan(name))],
      ]),
    ),
  };
}

const stack = stackUnderTest();
let catalog: ReturnType<typeof temporaryCatalog>;
let host: LiveHost;
let desk: GoalDesk;
let logs: SessionLogs;
let harness: Harness;
/** All faults happen side by side. */
let faulty: ReadonlyMap<string, string>;

beforeAll(async () => {
  const url = await stub.start();
  catalog = temporaryCatalog(filesOf(url, await urlOfNobody()));
  const env = {
    LONGREIN_PROVIDERS_FILE: join(catalog.path, 'providers.yaml'),
    LONGREIN_PRICES_FILE: join(catalog.path, 'prices.yaml'),
    ...{ CLOUD_KEY: pageKey, WRONG_KEY: wrongKey },
  };
  host = await new LiveHost({ stack, eventStore: false, catalog: [catalog.path], env }).ready();
  desk = await GoalDesk.open(stack);
  logs = await SessionLogs.open(stack);
  harness = new Harness({ brokers: stack.brokers });
  const goals = faults.map(async (one) => [one.name, await submit(faultName(one))] as const);
  faulty = new Map(await Promise.all(goals));
});

afterAll(async () => {
  await harness.close();
  await logs.close();
  await desk.close();
  await host.remove();
  await stub.stop();
  catalog.remove();
});

const submit = (name: string, more: object = {}): Promise<string> =>
  desk.submit({ plan: `ask-${name}`, inputs: { said: 'Is it so?' }, ...more });

/** How a goal ended, and what counts of its session. Machines that run tests are slow at times. */
async function ended(goal: string) {
  const result = await desk.result(goal, 120_000);
  const { events } = await logs.closed(result.session, 60_000);
  return { result, events };
}

const run = async (name: string, more: object = {}) => ended(await submit(name, more));

const all = <T extends SeenEvent['type']>(events: readonly SeenEvent[], type: T) =>
  eventsOf(events, type).map(({ data }) => data);

const usage = (costNanoUsd: number) => ({ usage: { costNanoUsd } });

describe('a provider that fails', () => {
  it.each(faults)('with $name: $code', async (fault) => {
    const { result, events } = await ended(faulty.get(fault.name) ?? '');
    expect(result).toMatchObject({ status: 'failed', error: { code: fault.code, task: 'ask' } });
    const { class: kind, requests, maybePaid = false, leastMs = 0 } = fault;
    const failures = all(events, 'model.failed');
    expect(failures).toHaveLength(Math.max(1, requests));
    for (const one of failures)
      expect(one).toMatchObject({ code: fault.code, class: kind, costKnown: !maybePaid });
    // Who reads the result must not take it for free.
    expect(result.usage?.costKnown).toBe(maybePaid ? false : undefined);
    // Within what the policy gives it, and nothing stays open at the server.
    for (const { durationMs } of failures) expect(durationMs).toBeLessThan(modelTimeoutMs / 2);
    const calls = stub.of(fault.model.split('/')[1] ?? '');
    expect(calls).toHaveLength(requests);
    const [first, last] = [calls[0]?.startMs ?? 0, calls.at(-1)?.endMs ?? leastMs];
    expect(last).toBeLessThan(Number.POSITIVE_INFINITY);
    // By the server's clock, which sees a request later than its sender does, and on a busy machine much later.
    expect(last - first).toBeGreaterThanOrEqual(leastMs / 2);
    // What may have been paid counts as spent, with all that was held for it.
    const spent = all(events, 'budget.returned').map(({ spentNanoUsd }) => spentNanoUsd);
    expect(spent).toEqual([maybePaid ? perCallNanoUsd : 0]);
    await expectVerified(stack, [result.session]);
  });
});

describe('an agent over its budget', () => {
  it('goes on with a cheaper model, where it names one', async () => {
    const { result, events } = await run('thrifty', { budgetNanoUsd: 5 * perCallNanoUsd });
    expect(result).toMatchObject({ status: 'completed', ...usage(perCallNanoUsd) });
    expect(all(events, 'model.denied').map(({ code }) => code)).toEqual(['BUDGET_EXHAUSTED']);
    expect(all(events, 'model.requested').map(({ model }) => model)).toEqual([
      ...['stub/dear', 'stub/cheap'],
    ]);
    expect(stub.of('dear')).toEqual([]);
    await expectVerified(stack, [result.session]);
  });

  it('asks a person for more, and goes on with it', async () => {
    const { session } = await harness.submit({
      ...{ plan: 'ask-asks', inputs: { said: 'Is it so?' }, budgetNanoUsd: perCallNanoUsd / 2 },
    });
    const watched = harness.session(session);
    for await (const update of watched.follow()) {
      if (update.kind !== 'event' || update.event.type !== 'person.asked') continue;
      expect(update.event.data).toMatchObject({ about: 'budget' });
      expect(stub.of('asks')).toEqual([]);
      const approval = update.event.data.question;
      await watched.approve({ approval, decision: 'granted', decidedBy: 'ann' });
    }
    expect(await watched.result()).toMatchObject({ output: { ask: 'Yes.' } });
    const { events } = await logs.closed(session);
    expect(all(events, 'budget.raised')).toMatchObject([{ byNanoUsd: 2 * perCallNanoUsd }]);
    expect(stub.of('asks')).toHaveLength(1);
    await expectVerified(stack, [session]);
  });

  it('is refused a model whose price nobody knows', async () => {
    const { result } = await run('unpriced', { budgetNanoUsd: 9e9 });
    expect(result).toMatchObject({ error: { code: 'MODEL_PRICE_UNKNOWN' }, ...usage(0) });
    expect(stub.of('unpriced')).toEqual([]);
  });
});

describe('the gateway', () => {
  it('holds calls to the tokens of a minute, and refuses those that have no room in their time', async () => {
    const { events } = await run('narrow');
    const codes = all(events, 'model.denied').map(({ code }) => code);
    const completed = all(events, 'model.completed').length;
    // 250 tokens a minute are two calls; a machine that stands still may let one of them come too late.
    expect(completed).toBeGreaterThanOrEqual(1);
    expect(stub.mostWithin('narrow', 60_000)).toBeLessThanOrEqual(2);
    expect(codes).toEqual(Array.from({ length: 6 - completed }, () => 'MODEL_RATE_LIMITED'));
  });

  it('answers an equal request of the same tenant for nothing, and no other', async () => {
    const asked = async (said: string, tenant: string) => {
      const { events } = await run('kept', { inputs: { said }, tenant });
      const [{ cached = false, costNanoUsd } = {}] = all(events, 'model.completed');
      return [cached, costNanoUsd, stub.of('kept').length];
    };
    expect(await asked('One?', 'one')).toEqual([false, perCallNanoUsd, 1]);
    expect(await asked('One?', 'one')).toEqual([true, 0, 1]);
    expect(await asked('Two?', 'one')).toEqual([false, perCallNanoUsd, 2]);
    expect(await asked('One?', 'two')).toEqual([false, perCallNanoUsd, 3]);
  });

  it('says what a model that goes in circles has cost until it was stopped', async () => {
    const { result, events } = await run('circling');
    expect(result).toMatchObject({
      error: { code: 'LOOP_DETECTED' },
      ...usage(3 * perCallNanoUsd),
    });
    expect(result.error?.message).toContain('So far: 3 model calls, 330 tokens, $0.0003.');
    expect(all(events, 'tool.completed')).toHaveLength(3);
    await expectVerified(stack, [result.session]);
  });
});

describe('the examples of the page', () => {
  it('happen as they are listed there, and the key is in no event', async () => {
    const { result, events } = await run('page', { tenant: 'acme' });
    expect(listingOf(events)).toBe(shownListing);
    expect(stub.of('large').map(({ authorization }) => authorization)).toEqual([
      `Bearer ${pageKey}`,
    ]);
    expect(JSON.stringify(events)).not.toContain(pageKey);
    await expectVerified(stack, [result.session]);
  });

  it('find the note that is nearest to a question', async () => {
    const notes = ['Milk is out.', 'The key is under the mat.'];
    const inputs = { question: 'Where is the key?', notes };
    const { result } = await ended(await desk.submit({ plan: 'find-note', inputs }));
    expect(result).toMatchObject({ output: { find: 'The key is under the mat.' } });
    await expectVerified(stack, [result.session]);
  });
});
