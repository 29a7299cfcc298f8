// Source: openai-agents-js 1530, multica 5918: the abort never reached the MCP call, and the agent kept its slot.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { EventType, SeenEvent } from '../../schemas/event.ts';
import { sessionId } from '../../services/chassis/protocol/ids.ts';
import { temporaryCatalog } from '../support/document-files.ts';
import { GoalDesk } from '../support/goal-desk.ts';
import { LiveHost } from '../support/live-hosts.ts';
import { fixture, stackUnderTest } from '../support/live-stack.ts';
import { ProviderStub } from '../support/provider-stub.ts';
import { SessionLogs } from '../support/session-log.ts';

const stack = stackUnderTest();
/** By the times in the log: how soon a test sees them is the machine's affair. */
const withinMs = 5_000;

const work = mkdtempSync(join(tmpdir(), 'longrein-s17-'));
/** Where the server writes that it has started, and what it was told to cancel. */
const heardFile = join(work, 'heard');

/** Says a word, and then nothing any more. */
const stub = new ProviderStub({ thinker: { fault: 'silent' }, quick: {} });

/** One session that waits for an MCP server, a sandbox and a model at once, in a pool with room for just that. */
const filesOf = (url: string) => ({
  'pools.yaml': '- { name: busy, description: Three at a time., concurrencyMax: 3 }\n',
  'providers.yaml': `providers: { stub: { baseUrl: ${url} } }\n`,
  'prices.yaml': 'stub/*: { inputNanoUsdPerMTokens: 0, outputNanoUsdPerMTokens: 1000000000 }\n',
  'mcp-servers.yaml': `
busy-server: { package: unruly-server, bin: unruly-server, args: [normal, '${heardFile}'] }
`,
  'tools/busy.hang.yaml': `
name: busy.hang
version: 1.0.0
description: An MCP server that answers after so long, or never.
category: test
risk: low
sideEffects: none
runner: { kind: mcp, server: busy-server, tool: hang }
roles: [analyst]
timeoutMs: 60000
inputSchema: { type: object }
`,
  'tools/busy.spin.yaml': `
name: busy.spin
version: 1.0.0
description: A sandbox.
category: test
risk: low
sideEffects: none
runner: { kind: sandbox, language: javascript }
roles: [analyst]
timeoutMs: 60000
inputSchema: { type: object, properties: { code: { type: string }, timeMs: { type: integer } } }
`,
  'agents/hanger.yaml': `
kind: procedure
name: hanger
version: 1.0.0
description: Waits for an MCP server.
role: analyst
provisioning: { servers: skip }
tools: [busy.hang]
steps: [{ id: hang, tool: busy.hang, arguments: { forMs: '=input.brief ? 1 : 0' } }]
output: done
`,
  'agents/spinner.yaml': `
kind: procedure
name: spinner
version: 1.0.0
description: Waits for a sandbox.
role: analyst
tools: [busy.spin]
steps:
  - id: spin
    tool: busy.spin
    arguments: { code: '=input.brief ? "return 1" : "for (;;);"', timeMs: 60000 }
output: done
`,
  'agents/thinker.yaml': `
kind: model
name: thinker
version: 1.0.0
description: Waits for a model.
role: analyst
model: stub/thinker
prompt: Think.
`,
  'agents/quick-thinker.yaml': `
kind: model
name: quick-thinker
version: 1.0.0
description: Asks a model that answers.
role: analyst
model: stub/quick
prompt: Think.
`,
  'plans/busy.yaml': `
name: busy
version: 1.0.0
description: Three tasks that never end by themselves.
tasks:
  - { id: mcp, pool: busy, agent: hanger }
  - { id: sandbox, pool: busy, agent: spinner }
  - { id: model, pool: busy, agent: thinker }
`,
  'plans/brief.yaml': `
name: brief
version: 1.0.0
description: The same tools, which end, and a model that answers.
tasks:
  - { id: mcp, pool: busy, agent: hanger, input: { brief: true } }
  - { id: sandbox, pool: busy, agent: spinner, input: { brief: true } }
  - { id: model, pool: busy, agent: quick-thinker }
`,
  'agents/lead.yaml': `
kind: model
name: lead
version: 1.0.0
description: Has the three of them done by others.
role: analyst
tools: [busy.hang, busy.spin, delegate]
model: scripted/lead
prompt: Begin.
delegates: { agents: [hanger, spinner, thinker] }
provisioning: { servers: skip }
`,
  'scripts/lead.yaml': `
- model: lead
  answer:
    toolCalls:
      - { name: delegate, arguments: { agent: hanger, goal: Hang. } }
      - { name: delegate, arguments: { agent: spinner, goal: Spin. } }
      - { name: delegate, arguments: { agent: thinker, goal: Think. } }
`,
  'plans/busy-delegates.yaml': `
name: busy-delegates
version: 1.0.0
description: The same, each by a delegate of one agent.
tasks:
  - { id: lead, pool: busy, agent: lead }
`,
  'plans/busy-children.yaml': `
name: busy-children
version: 1.0.0
description: The same, each in a child session.
tasks:
  - id: each
    pool: busy
    agent: hanger
    fanOut:
      branches: [{ id: mcp }, { id: sandbox, agent: spinner }, { id: model, agent: thinker }]
      spread: { above: 0, perSession: 1 }
`,
});

let directory: ReturnType<typeof temporaryCatalog>;
let host: LiveHost;
let desk: GoalDesk;
let logs: SessionLogs;

beforeAll(async () => {
  directory = temporaryCatalog(filesOf(await stub.start()));
  const env = {
    LONGREIN_PROVIDERS_FILE: join(directory.path, 'providers.yaml'),
    LONGREIN_PRICES_FILE: join(directory.path, 'prices.yaml'),
  };
  const catalog = [fixture('catalog'), directory.path];
  host = await new LiveHost({ stack, eventStore: false, catalog, env }).ready();
  desk = await GoalDesk.open(stack);
  logs = await SessionLogs.open(stack);
});

afterAll(async () => {
  await logs.close();
  await desk.close();
  await host.remove();
  await stub.stop();
  directory.remove();
  rmSync(work, { recursive: true });
});

const ofTypes = (events: readonly SeenEvent[], ...types: readonly EventType[]): SeenEvent[] =>
  events.filter(({ type }) => types.includes(type));

const callOf = ({ data }: SeenEvent): string => ('call' in data ? String(data.call) : '');

/** When the last thing was said that is about a call. */
const endOf = (events: readonly SeenEvent[]): number =>
  Math.max(...ofTypes(events, ...ends, ...modelEnds, 'agent.cleaned-up').map(({ atMs }) => atMs));

const claims = ['tool.claimed', 'model.claimed'] as const;
const ends = ['tool.completed', 'tool.failed', 'tool.unknown'] as const;
const modelEnds = ['model.completed', 'model.failed', 'model.denied'] as const;

/** The server starts with the first call. */
const heard = (): readonly string[] =>
  existsSync(heardFile) ? readFileSync(heardFile, 'utf8').trimEnd().split('\n') : ['started'];

/** A claim is in the log before its call is anywhere: on a busy machine the server starts long after it. */
async function underWay(before: readonly string[]): Promise<void> {
  await vi.waitFor(() => {
    expect(heard().slice(before.length).at(-1)).toBe('hanging');
    expect(stub.of('thinker').at(-1)?.endMs).toBe(Number.POSITIVE_INFINITY);
  }, 50_000);
}

/** That the server was told to cancel its one call since, and the connection to the model is closed. */
async function expectStopped(before: readonly string[]): Promise<void> {
  const toldSince = () => heard().slice(before.length);
  await vi.waitFor(
    () => expect(toldSince().slice(-2)).toEqual(['hanging', 'cancelled hang']),
    withinMs,
  );
  const ends = (): readonly number[] => stub.of('thinker').map(({ endMs }) => endMs);
  await vi.waitFor(
    () => expect(Math.max(...ends())).toBeLessThan(Number.POSITIVE_INFINITY),
    withinMs,
  );
}

/** What the provider has worked for, by what counts of the session. */
const tokensOf = (events: readonly SeenEvent[]): number =>
  events.reduce((sum, { data }) => sum + ('outputTokens' in data ? data.outputTokens : 0), 0);

test('a cancel ends a running MCP call, a sandbox and a model within five seconds, and nothing is spent after it', async () => {
  const before = heard();
  const id = await desk.submit({ plan: 'busy', timeoutMs: 120_000 });
  const session = sessionId('default', '', id);
  await logs.until(session, ({ events }) => ofTypes(events, ...claims).length === 3);
  await underWay(before);
  const cancelledAtMs = Date.now();
  await desk.send({ cancel: id, reason: 'not needed any more' });
  expect((await desk.result(id)).status).toBe('cancelled');
  const { events } = await logs.closed(session);
  expect(endOf(events) - cancelledAtMs).toBeLessThan(withinMs);

  const claimed = ofTypes(events, ...claims)
    .map(callOf)
    .sort();
  expect(
    ofTypes(events, ...ends, ...modelEnds)
      .map(callOf)
      .sort(),
  ).toEqual(claimed);
  const after = events.slice(events.findIndex(({ type }) => type === 'session.cancelled'));
  expect(ofTypes(after, ...claims, 'tool.requested', 'model.requested')).toEqual([]);
  expect(tokensOf(events)).toBe(0);
  expect(ofTypes(events, 'agent.cleaned-up')).toHaveLength(3);
  await expectStopped(before);
});

test('a cancel ends child sessions with a running MCP call, a sandbox and a model within five seconds', async () => {
  const before = heard();
  const id = await desk.submit({ plan: 'busy-children', timeoutMs: 120_000 });
  const session = sessionId('default', '', id);
  const children = [1, 2, 3].map((ordinal) => sessionId('default', session, `each/${ordinal}`));
  for (const child of children)
    await logs.until(child, ({ events }) => ofTypes(events, ...claims).length === 1);
  await underWay(before);
  const cancelledAtMs = Date.now();
  await desk.send({ cancel: id, reason: 'not needed any more' });
  expect((await desk.result(id)).status).toBe('cancelled');
  await logs.closed(session);
  const ended = await Promise.all(children.map((child) => logs.closed(child)));

  for (const { events } of ended) {
    expect(endOf(events) - cancelledAtMs).toBeLessThan(withinMs);
    const after = events.slice(events.findIndex(({ type }) => type === 'session.cancelled'));
    expect(ofTypes(after, ...claims, 'tool.requested', 'model.requested')).toEqual([]);
    expect(ofTypes(events, ...ends, ...modelEnds)).toHaveLength(1);
    expect(ofTypes(events, 'agent.cleaned-up')).toHaveLength(1);
    const [said] = ofTypes(events, 'result.published');
    expect(said?.data).toMatchObject({ status: 'cancelled', outputTokens: 0, costNanoUsd: 0 });
  }
  await expectStopped(before);
});

test('a cancel ends delegates with a running MCP call, a sandbox and a model within five seconds', async () => {
  const before = heard();
  const id = await desk.submit({ plan: 'busy-delegates', timeoutMs: 120_000 });
  const session = sessionId('default', '', id);
  await logs.until(session, ({ events }) => ofTypes(events, ...claims).length === 4);
  await underWay(before);
  const cancelledAtMs = Date.now();
  await desk.send({ cancel: id, reason: 'not needed any more' });
  expect((await desk.result(id)).status).toBe('cancelled');
  const { events } = await logs.closed(session);
  expect(endOf(events) - cancelledAtMs).toBeLessThan(withinMs);

  const after = events.slice(events.findIndex(({ type }) => type === 'session.cancelled'));
  expect(ofTypes(after, ...claims, 'tool.requested', 'model.requested')).toEqual([]);
  expect(ofTypes(after, 'task.scheduled', 'task.delegated')).toEqual([]);
  expect(ofTypes(after, ...ends, ...modelEnds)).toHaveLength(3);
  expect(ofTypes(after, 'task.cancelled')).toHaveLength(4);
  expect(ofTypes(events, 'agent.cleaned-up')).toHaveLength(4);
  const [said] = ofTypes(events, 'result.published');
  expect(said?.data).toMatchObject({ status: 'cancelled', costNanoUsd: 0 });
  expect(tokensOf(after.filter(({ type }) => type === 'model.failed'))).toBe(0);
  await expectStopped(before);
});

test('the places of what was cancelled are free: the same tools run again in the pool', async () => {
  const asked = stub.of('thinker').length;
  const ids = await Promise.all([1, 2].map(() => desk.submit({ plan: 'brief' })));
  for (const id of ids)
    expect(await desk.result(id)).toMatchObject({
      status: 'completed',
      output: { mcp: 'done', sandbox: 'done', model: 'Yes.' },
    });
  expect(stub.of('quick')).toHaveLength(2);
  // Nobody asked again for what was cancelled.
  expect([asked, stub.of('thinker').length]).toEqual([3, 3]);
});
