import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SeenEvent } from '../../../schemas/event.ts';
import { Harness } from '../../../services/client/index.ts';
import { temporaryCatalog } from '../../support/document-files.ts';
import { GoalDesk } from '../../support/goal-desk.ts';
import { LiveHost } from '../../support/live-hosts.ts';
import { fixture, stackUnderTest } from '../../support/live-stack.ts';
import { ProviderStub, type WireMessage } from '../../support/provider-stub.ts';
import { SessionLogs } from '../../support/session-log.ts';
import { expectVerified } from '../../support/session-proof.ts';
import { eventsOf } from '../../support/work-fixtures.ts';

/** What templates and tenants ask of a conversation, by what really comes to the provider, on a real broker. */

const perCallNanoUsd = 100_000;
const fillers = 6;
const filler = 'x'.repeat(3_000);

const roundsOf = (said: readonly WireMessage[]): number =>
  said.filter(({ role }) => role === 'assistant').length;

/** Some bytes a token, as providers count. */
const inputTokens = (said: readonly WireMessage[]): number =>
  Math.ceil(JSON.stringify(said).length / 4);

/** Keeps a note, then reads more than fits beside it; the newest question says how often it has read. */
function reader(said: readonly WireMessage[]) {
  const at = stub.of('reader').length;
  const counted = { inputTokens: inputTokens(said) };
  if (at === 1) return { ...counted, tool: 'note_keep', arguments: { note: 'The key is 4711.' } };
  if (at <= 1 + fillers)
    return { ...counted, tool: 'test_echo', arguments: { said: `page ${at - 1} ${filler}` } };
  return { ...counted, words: ['Read.'] };
}

/** Looks something up, and gives the rest away. */
const front = (said: readonly WireMessage[]) =>
  roundsOf(said) === 0
    ? { tool: 'test_echo', arguments: { said: 'The order is 1042.' } }
    : { tool: 'handoff', arguments: { agent: 'second', summary: 'An order.' } };

const stub: ProviderStub = new ProviderStub({
  ...{ reader, front },
  second: { words: ['It is on its way.'] },
  ...{ asks: {}, limited: {} },
});

const agent = (model: string, more: object = {}) => ({
  ...{ kind: 'model', name: model, version: '1.0.0', description: 'Asks.', role: 'tester' },
  ...{ model: `stub/${model}`, prompt: `The prompt of ${model}.`, outputTokensMax: 100 },
  ...more,
});

const agents = [
  agent('reader', {
    tools: ['note.keep', 'test.echo'],
    stepsMax: 10,
    context: { tokensMax: 4_000, keepSteps: 1, pin: ['note.keep'] },
  }),
  agent('front', {
    tools: ['test.echo', 'handoff'],
    handoffs: { agents: ['second'], with: 'conversation' },
  }),
  agent('second', { prompt: 'Finish it.' }),
  agent('asks', { onError: { budgetAskNanoUsd: 2 * perCallNanoUsd } }),
  agent('limited', { modelTimeoutMs: 8_000, modelAttemptsMax: 1 }),
];

const plan = (name: string) => ({
  ...{ name, version: '1.0.0', description: 'Asks.' },
  tasks: [
    {
      ...{ id: 'ask', pool: 'test', agent: name, attemptsMax: 1, timeoutMs: 120_000 },
      ...(name === 'limited'
        ? { fanOut: { over: '=[1..6]', onBranchFailure: 'continue' }, input: { number: '=item' } }
        : {}),
    },
  ],
  output: { kind: 'collect' },
});

const filesOf = (url: string): Record<string, string> => ({
  'providers.yaml': `providers: { stub: { baseUrl: ${url} } }
tenants: { thrifty: { requestsPerMinute: 2 } }
`,
  'prices.yaml': 'stub/*: { inputNanoUsdPerMTokens: 0, outputNanoUsdPerMTokens: 1000000000 }\n',
  'tools/note.keep.yaml': `
name: note.keep
version: 1.0.0
description: Keeps a note.
category: test
risk: low
sideEffects: none
idempotent: true
runner: { kind: builtin, name: echo }
roles: [tester]
inputSchema: { type: object }
`,
  ...Object.fromEntries(agents.map((one) => [`agents/${one.name}.yaml`, JSON.stringify(one)])),
  ...Object.fromEntries(
    agents.map(({ name }) => [`plans/${name}.yaml`, JSON.stringify(plan(name))]),
  ),
});

const stack = stackUnderTest();
let catalog: ReturnType<typeof temporaryCatalog>;
let host: LiveHost;
let desk: GoalDesk;
let logs: SessionLogs;
let harness: Harness;

beforeAll(async () => {
  catalog = temporaryCatalog(filesOf(await stub.start()));
  const env = {
    LONGREIN_PROVIDERS_FILE: join(catalog.path, 'providers.yaml'),
    LONGREIN_PRICES_FILE: join(catalog.path, 'prices.yaml'),
  };
  const options = { stack, eventStore: false, catalog: [fixture('catalog'), catalog.path], env };
  host = await new LiveHost(options).ready();
  desk = await GoalDesk.open(stack);
  logs = await SessionLogs.open(stack);
  harness = new Harness({ brokers: stack.brokers });
});

afterAll(async () => {
  await harness.close();
  await logs.close();
  await desk.close();
  await host.remove();
  await stub.stop();
  catalog.remove();
});

async function run(name: string, more: object = {}) {
  const result = await desk.result(await desk.submit({ plan: name, ...more }), 120_000);
  const { events } = await logs.closed(result.session, 60_000);
  await expectVerified(stack, [result.session]);
  return { result, events };
}

const all = <T extends SeenEvent['type']>(events: readonly SeenEvent[], type: T) =>
  eventsOf(events, type).map(({ data }) => data);

describe('a conversation', () => {
  it('keeps the steps of pinned tools, whatever else has to go', async () => {
    const { result, events } = await run('reader');
    expect(result).toMatchObject({ status: 'completed', output: { ask: 'Read.' } });
    expect(all(events, 'tool.completed')).toHaveLength(1 + fillers);
    const omitted = all(events, 'model.requested').flatMap(({ omit = [] }) => omit);
    expect(omitted.length).toBeGreaterThan(0);
    const last = JSON.stringify(stub.of('reader').at(-1)?.messages);
    expect(last).toContain('The key is 4711.');
    expect(last).toContain(`page ${fillers} `);
    expect(last).not.toContain('page 1 ');
  });

  it('goes with a task that is handed on, where its template says so', async () => {
    const { result, events } = await run('front');
    expect(result).toMatchObject({ status: 'completed', output: { ask: 'It is on its way.' } });
    expect(all(events, 'task.delegated')).toMatchObject([{ to: 'second', conversation: true }]);
    const [heard, ...more] = stub.of('second');
    expect(more).toEqual([]);
    const said = JSON.stringify(heard?.messages);
    for (const one of ['The prompt of front.', 'The order is 1042.', 'An order.'])
      expect(said).toContain(one);
  });
});

describe('a person who is asked for more money', () => {
  it('may refuse: the goal fails, says why, and nothing was asked', async () => {
    const { session } = await harness.submit({ plan: 'asks', budgetNanoUsd: perCallNanoUsd / 2 });
    const watched = harness.session(session);
    for await (const update of watched.follow()) {
      if (update.kind !== 'event' || update.event.type !== 'person.asked') continue;
      const approval = update.event.data.question;
      await watched.approve({ approval, decision: 'denied', decidedBy: 'ann' });
    }
    const { events } = await logs.closed(session);
    expect(all(events, 'session.failed').map(({ code }) => code)).toEqual(['BUDGET_EXHAUSTED']);
    expect(all(events, 'person.settled')).toMatchObject([
      { decision: 'denied', answeredBy: 'ann' },
    ]);
    expect(all(events, 'budget.raised')).toEqual([]);
    expect(stub.of('asks')).toEqual([]);
    await expectVerified(stack, [session]);
  });
});

describe('the limit of a tenant', () => {
  it('holds its own calls back, and nobody else’s', async () => {
    const [thrifty, other] = await Promise.all([
      run('limited', { tenant: 'thrifty' }),
      run('limited', { tenant: 'other' }),
    ]);
    expect(all(other.events, 'model.completed')).toHaveLength(6);
    const completed = all(thrifty.events, 'model.completed').length;
    expect(completed).toBeGreaterThanOrEqual(1);
    expect(completed).toBeLessThanOrEqual(2);
    const denied = all(thrifty.events, 'model.denied').map(({ code }) => code);
    expect(denied).toEqual(Array.from({ length: 6 - completed }, () => 'MODEL_RATE_LIMITED'));
    expect(stub.of('limited')).toHaveLength(6 + completed);
  });
});
