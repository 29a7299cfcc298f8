// Source: openai-agents-js 1530, multica 5918: the abort never reached the MCP call, and the agent kept its slot.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EventType, SeenEvent } from '../../schemas/event.ts';
import { sessionId } from '../../services/chassis/protocol/ids.ts';
import { temporaryCatalog } from '../support/document-files.ts';
import { GoalDesk } from '../support/goal-desk.ts';
import { LiveHost } from '../support/live-hosts.ts';
import { examples, fixture, stackUnderTest } from '../support/live-stack.ts';
import { SessionLogs } from '../support/session-log.ts';

const stack = stackUnderTest();
/** By the times in the log: how soon a test sees them is the machine's affair. */
const withinMs = 5_000;

/** One session that waits for an MCP server, a sandbox and a model at once. */
const files = {
  'tools/busy.hang.yaml': `
name: busy.hang
version: 1.0.0
description: An MCP server that never answers.
category: test
risk: low
sideEffects: none
runner: { kind: mcp, server: unruly-hanging, tool: hang }
roles: [analyst]
timeoutMs: 60000
inputSchema: { type: object }
`,
  'tools/busy.spin.yaml': `
name: busy.spin
version: 1.0.0
description: A sandbox that never ends.
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
steps: [{ id: hang, tool: busy.hang, arguments: {} }]
output: done
`,
  'agents/spinner.yaml': `
kind: procedure
name: spinner
version: 1.0.0
description: Waits for a sandbox.
role: analyst
tools: [busy.spin]
steps: [{ id: spin, tool: busy.spin, arguments: { code: 'for (;;);', timeMs: 60000 } }]
output: done
`,
  'agents/thinker.yaml': `
kind: model
name: thinker
version: 1.0.0
description: Waits for a model.
role: analyst
model: scripted/thinker
prompt: Think.
`,
  'scripts/thinker.yaml': `
- { model: thinker, delayMs: 60000, answer: '"At last."' }
`,
  'plans/busy.yaml': `
name: busy
version: 1.0.0
description: Three tasks that never end by themselves.
tasks:
  - { id: mcp, pool: test, agent: hanger }
  - { id: sandbox, pool: test, agent: spinner }
  - { id: model, pool: test, agent: thinker }
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
  - { id: lead, pool: test, agent: lead }
`,
  'plans/busy-children.yaml': `
name: busy-children
version: 1.0.0
description: The same, each in a child session.
tasks:
  - id: each
    pool: test
    agent: hanger
    fanOut:
      branches: [{ id: mcp }, { id: sandbox, agent: spinner }, { id: model, agent: thinker }]
      spread: { above: 0, perSession: 1 }
`,
};

const directory = temporaryCatalog(files);
let host: LiveHost;
let desk: GoalDesk;
let logs: SessionLogs;

const catalogs = [examples, fixture('catalog'), fixture('trouble')];

beforeAll(async () => {
  host = await new LiveHost({
    stack,
    eventStore: false,
    catalog: [...catalogs, directory.path],
  }).ready();
  desk = await GoalDesk.open(stack);
  logs = await SessionLogs.open(stack);
});

afterAll(async () => {
  await logs.close();
  await desk.close();
  await host.remove();
  directory.remove();
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

test('a cancel ends a running MCP call, a sandbox and a model within five seconds, and nothing is spent after it', async () => {
  const id = await desk.submit({ plan: 'busy', timeoutMs: 120_000 });
  const session = sessionId('default', '', id);
  await logs.until(session, ({ events }) => ofTypes(events, ...claims).length === 3);
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
  const spent = events.flatMap((one) =>
    'outputTokens' in one.data && 'costNanoUsd' in one.data ? [one.data] : [],
  );
  expect(spent.every((one) => one.costNanoUsd === 0 && one.outputTokens === 0)).toBe(true);
  expect(ofTypes(events, 'agent.cleaned-up')).toHaveLength(3);
});

test('a cancel ends child sessions with a running MCP call, a sandbox and a model within five seconds', async () => {
  const id = await desk.submit({ plan: 'busy-children', timeoutMs: 120_000 });
  const session = sessionId('default', '', id);
  const children = [1, 2, 3].map((ordinal) => sessionId('default', session, `each/${ordinal}`));
  for (const child of children)
    await logs.until(child, ({ events }) => ofTypes(events, ...claims).length === 1);
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
});

test('a cancel ends delegates with a running MCP call, a sandbox and a model within five seconds', async () => {
  const id = await desk.submit({ plan: 'busy-delegates', timeoutMs: 120_000 });
  const session = sessionId('default', '', id);
  await logs.until(session, ({ events }) => ofTypes(events, ...claims).length === 4);
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
});

test('the places of what was cancelled are free: as much again runs at once', async () => {
  const started = performance.now();
  const ids = await Promise.all(
    Array.from({ length: 8 }, () => desk.submit({ plan: 'echo', inputs: { said: 'free' } })),
  );
  for (const id of ids) expect((await desk.result(id, 10_000)).status).toBe('completed');
  expect(performance.now() - started).toBeLessThan(10_000);
});
