import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EventType, SeenEvent } from '../../schemas/event.ts';
import { sessionId } from '../../services/chassis/protocol/ids.ts';
import { temporaryCatalog } from '../support/document-files.ts';
import { GoalDesk } from '../support/goal-desk.ts';
import { LiveHost } from '../support/live-hosts.ts';
import { examples, fixture, stackUnderTest } from '../support/live-stack.ts';
import { SessionLogs } from '../support/session-log.ts';
import { expectVerified } from '../support/session-proof.ts';

/** Agents that give work to others, on a real broker, with a host that dies while the others work. */

const stack = stackUnderTest();
const giving = 'version: 1.0.0\nrole: tester\nkind: model\nmodel: chief\n';
const files = {
  'models.yaml': 'chief: scripted/chief\n',
  'agents/chief.yaml': `${giving}
name: chief
description: Has two others wait and count, and hands the rest on.
tools: [test.wait, test.count, test.echo, delegate, handoff]
prompt: Begin.
delegates: { agents: [counter, deep] }
handoffs: { agents: [echoer], with: summary }
`,
  'agents/deep.yaml': `${giving}
name: deep
description: Would delegate further, and is told not to.
tools: [test.wait, test.count, delegate]
prompt: Deeper.
delegates: { agents: [counter] }
`,
  'plans/delegation.yaml': `
name: delegation
version: 1.0.0
description: One task, whose agent gives work to others.
tasks:
  - { id: one, pool: test, agent: chief, input: { said: bye } }
output: { kind: collect, shape: =tasks.one }
`,
  'plans/deep.yaml': `
name: deep
version: 1.0.0
description: One task, whose agent may not go deeper.
tasks:
  - { id: one, pool: test, agent: top }
output: { kind: collect, shape: =tasks.one }
`,
  'agents/top.yaml': `${giving}
name: top
description: Allows one level.
tools: [test.wait, test.count, delegate]
prompt: Top.
delegates: { agents: [deep], depthMax: 1 }
`,
  'scripts/chief.yaml': `
- model: chief
  when: messages[role = "user"][0].text = "Begin." and $count(messages[role = "assistant"]) = 0
  answer:
    toolCalls:
      - { name: delegate, arguments: { agent: counter, goal: Wait., input: { counter: a, waitMs: 3000 } } }
      - { name: delegate, arguments: { agent: counter, goal: Wait too., input: { counter: b, waitMs: 3000 } } }
- model: chief
  when: messages[role = "user"][0].text = "Begin."
  answer: { toolCalls: [{ name: handoff, arguments: { agent: echoer, summary: Both have counted. } }] }
- model: chief
  when: messages[role = "user"][0].text = "Top." and $count(messages[role = "assistant"]) = 0
  answer: { toolCalls: [{ name: delegate, arguments: { agent: deep, goal: Go on. } }] }
- model: chief
  when: messages[role = "user"][0].text = "Deeper." and $count(messages[role = "assistant"]) = 0
  answer: { toolCalls: [{ name: delegate, arguments: { agent: counter, goal: Count., input: { counter: c } } }] }
- model: chief
  answer: '$string(messages[role = "tool"][-1].result)'
`,
};
const directory = temporaryCatalog(files);
const catalog = [examples, fixture('catalog'), directory.path];
const hosts: LiveHost[] = [];
let desk: GoalDesk;
let logs: SessionLogs;

async function anotherHost(): Promise<LiveHost> {
  const host = new LiveHost({ stack, eventStore: false, catalog });
  hosts.push(host);
  await host.ready(240_000);
  return host;
}

beforeAll(async () => {
  await anotherHost();
  desk = await GoalDesk.open(stack);
  logs = await SessionLogs.open(stack);
});
afterAll(async () => {
  await Promise.all(hosts.map((host) => host.remove()));
  directory.remove();
  await Promise.all([logs.close(), desk.close()]);
});

const of = <T extends EventType>(events: readonly SeenEvent[], type: T) =>
  events.filter((one): one is SeenEvent & SeenEvent<T> => one.type === type);

test('two delegates work at the same time, their host dies, and the task that is handed on comes to its end', async () => {
  const id = await desk.submit({ plan: 'delegation' });
  const session = sessionId('default', '', id);
  await logs.until(session, ({ events }) => of(events, 'tool.claimed').length === 2, 30_000);
  const [first] = hosts;
  const second = anotherHost();
  await first?.kill();
  await second;
  const result = await desk.result(id, 90_000);
  expect(result).toMatchObject({ status: 'completed', output: { said: 'bye' } });
  const { events } = await logs.closed(session);
  const made = of(events, 'task.delegated').map(({ data }) => [data.delegated, data.to, data.kind]);
  expect(made).toEqual([
    ['one/1', 'counter', 'delegate'],
    ['one/2', 'counter', 'delegate'],
    ['one/3', 'echoer', 'handoff'],
  ]);
  const hostsOf = new Set(of(events, 'tool.claimed').map(({ incarnation }) => incarnation));
  expect(hostsOf.size).toBe(2);
  expect(of(events, 'delegation.settled').map(({ data }) => data.outcome)).toEqual([
    'completed',
    'completed',
  ]);
  // Each counted once: nothing was repeated for the sake of the takeover.
  const counted = of(events, 'tool.requested').filter(({ data }) => data.tool === 'test.count');
  expect(counted).toHaveLength(2);
  await expectVerified(stack, [session]);
});

test('nobody delegates deeper than who is above allows, and is told so', async () => {
  const id = await desk.submit({ plan: 'deep' });
  const result = await desk.result(id, 30_000);
  expect(result).toMatchObject({ status: 'completed' });
  expect(JSON.stringify(result.output)).toContain('1 is the limit');
  const { events } = await logs.closed(sessionId('default', '', id));
  expect(of(events, 'tool.denied').map(({ data }) => data.code)).toEqual(['DELEGATION_TOO_DEEP']);
  expect(of(events, 'task.delegated')).toHaveLength(1);
});
