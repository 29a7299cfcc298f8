import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { poolsTopic } from '../../schemas/topics.ts';
import { createKafkaLog } from '../../services/chassis/log/kafka/kafka-log.ts';
import type { LogPort } from '../../services/chassis/log/port.ts';
import { poolLogId, sessionId } from '../../services/chassis/protocol/ids.ts';
import { publishDecision } from '../../services/client/approval.ts';
import { temporaryCatalog } from '../support/document-files.ts';
import { GoalDesk } from '../support/goal-desk.ts';
import { LiveHost } from '../support/live-hosts.ts';
import { examples, stackUnderTest } from '../support/live-stack.ts';
import { eventsOf, has, type SessionLog, SessionLogs } from '../support/session-log.ts';
import { expectVerified } from '../support/session-proof.ts';

/**
 * An agent that was given work is healed on a real broker as one of the plan is: begun again, replaced, a person asked, and
 * its template taken out and tried again. Its host is killed between two attempts. The tool is a real MCP server over a
 * directory whose files come and go. That server may take minutes to start: a call that ran out of time meanwhile would be one
 * failure more than the file's, and another one would heal it.
 */

const stack = stackUnderTest();
const reads = (file: string): string => `
steps: [{ id: read, tool: stock.read, arguments: { path: ${file}.json } }]
output: { stock: '=$number($replace(steps.read.content, /[^0-9]/, ""))' }
`;
const head = 'kind: procedure\nversion: 1.0.0\nrole: file-reader\n';
const plan = (name: string, backoffMs: number): string => `
name: ${name}
version: 1.0.0
description: Has the stock counted by another.
tasks: [{ id: stock, pool: files, agent: foreman, attemptsMax: 1, backoffMs: ${backoffMs}, timeoutMs: 900000 }]
output: { kind: collect, shape: =tasks.stock }
`;
const directory = temporaryCatalog({
  'mcp-servers.yaml': `
stock-files:
  package: '@modelcontextprotocol/server-filesystem'
  bin: mcp-server-filesystem
  args: ['\${workspace}']
  startTimeoutMs: 180000
`,
  'tools/stock.read.yaml': `
name: stock.read
version: 1.0.0
description: Gives the text of a file.
category: files
risk: low
sideEffects: read
runner: { kind: mcp, server: stock-files, tool: read_text_file }
roles: [file-reader]
timeoutMs: 180000
inputSchema:
  type: object
  additionalProperties: false
  properties: { path: { type: string } }
  required: [path]
`,
  'agents/foreman.yaml': `${head}
name: foreman
description: Has the stock counted.
tools: [stock.read, ask_person, delegate]
steps: [{ id: count, tool: delegate, arguments: { agent: counting-clerk, goal: Count. } }]
output: =steps.count
delegates: { agents: [counting-clerk] }
`,
  'agents/counting-clerk.yaml': `${head}
name: counting-clerk
description: Counts in the new file.
tools: [stock.read]
${reads('new-stock')}
onError:
  restart: 1
  replaceWith: [{ agent: old-clerk }]
  escalate: { timesMax: 1 }
  breaker: { failuresMax: 4, coolMs: 45000, meanwhile: replace }
person: { to: head of stores }
`,
  'agents/old-clerk.yaml': `${head}
name: old-clerk
description: Counts in the old file.
tools: [stock.read]
${reads('old-stock')}
`,
  'plans/have-counted.yaml': plan('have-counted', 1_000),
  // Long enough for another host to be killed before the next attempt.
  'plans/have-counted-later.yaml': plan('have-counted-later', 20_000),
});
const workspace = mkdtempSync(join(tmpdir(), 'longrein-delegated-'));
const hosts: LiveHost[] = [];
let desk: GoalDesk;
let logs: SessionLogs;
let pools: SessionLogs;
let log: LogPort;

async function anotherHost(): Promise<void> {
  const catalog = [examples, directory.path];
  const host = new LiveHost({ stack, catalog, env: { LONGREIN_WORKSPACE: workspace } });
  hosts.push(host);
  await host.ready(240_000);
}

beforeAll(async () => {
  await anotherHost();
  desk = await GoalDesk.open(stack);
  logs = await SessionLogs.open(stack);
  pools = await SessionLogs.open(stack, poolsTopic);
  log = createKafkaLog({ brokers: stack.brokers, clientId: 'delegated-healing-test' });
}, 300_000);
afterAll(async () => {
  await Promise.all([logs, pools, desk, log].map((one) => one?.close()));
  await Promise.all(hosts.map((host) => host.remove()));
  directory.remove();
  rmSync(workspace, { recursive: true, force: true });
});

const fileOf = (name: 'new' | 'old'): string => join(workspace, `${name}-stock.json`);
const stored = (name: 'new' | 'old', stock: number): void =>
  writeFileSync(fileOf(name), JSON.stringify({ stock }));

beforeEach(() => {
  for (const name of ['new', 'old'] as const) rmSync(fileOf(name), { force: true });
});

/** A busy machine takes its time. */
const patienceMs = 180_000;

async function begin(holds: (log: SessionLog) => boolean, named = 'have-counted') {
  const id = await desk.submit({ plan: named });
  const session = sessionId('default', '', id);
  return { id, session, log: await logs.until(session, holds, patienceMs) };
}

async function end({ id, session }: Readonly<{ id: string; session: string }>) {
  const result = await desk.result(id, patienceMs);
  const closed = await logs.closed(session, patienceMs);
  await expectVerified(stack, [session]);
  return { result, closed };
}

const stepsOf = (at: SessionLog) =>
  eventsOf(at, 'task.retry-scheduled').map(({ data }) => `${data.task} ${data.recovery?.step}`);
const workersOf = (at: SessionLog) =>
  eventsOf(at, 'agent.created').map(({ data }) => `${data.task} ${data.name}`);

test('it begins again, though its host was killed between the attempts', async () => {
  const goal = await begin(has('task.retry-scheduled'), 'have-counted-later');
  stored('new', 12);
  await hosts[0]?.kill();
  await anotherHost();
  const { result, closed } = await end(goal);
  expect(result).toMatchObject({ status: 'completed', output: { stock: 12 } });
  expect(stepsOf(closed)).toEqual(['stock/1 restart']);
  expect(workersOf(closed)).toEqual([
    ...['stock foreman', 'stock/1 counting-clerk', 'stock/1 counting-clerk'],
  ]);
  expect(eventsOf(closed, 'delegation.settled').map(({ data }) => data.outcome)).toEqual([
    'completed',
  ]);
});

test('another agent takes over, then a person, then the whole template is out and comes back by a probe', async () => {
  stored('old', 11);
  const replaced = await end(await begin(has('session.opened')));
  expect(replaced.result).toMatchObject({ output: { stock: 11 } });
  expect(stepsOf(replaced.closed)).toEqual(['stock/1 restart', 'stock/1 replace']);

  rmSync(fileOf('old'));
  const goal = await begin(has('person.asked'));
  const question = eventsOf(goal.log, 'person.asked')[0]?.data;
  expect(question).toMatchObject({ about: 'failure', task: 'stock/1', to: 'head of stores' });
  const answer = { decision: 'answered', answer: { stock: 8 }, decidedBy: 'bob' } as const;
  const approval = question?.question ?? '';
  await publishDecision(log, { session: goal.session, approval, ...answer });
  expect((await end(goal)).result).toMatchObject({ output: { stock: 8 } });

  const pool = poolLogId('files');
  const out = await pools.until(pool, has('template.suspended'), patienceMs);
  const [suspended] = eventsOf(out, 'template.suspended').filter(
    ({ data }) => data.agent === 'counting-clerk',
  );
  expect(suspended?.data.failures).toBe(4);
  stored('old', 10);
  const diverted = await end(await begin(has('session.opened')));
  expect(workersOf(diverted.closed)).toEqual(['stock foreman', 'stock/1 old-clerk']);

  stored('new', 3);
  await sleep(Math.max(0, (suspended?.data.untilMs ?? 0) + 1_000 - Date.now()));
  const probe = await end(await begin(has('session.opened')));
  expect(probe.result).toMatchObject({ output: { stock: 3 } });
  expect(workersOf(probe.closed)).toEqual(['stock foreman', 'stock/1 counting-clerk']);
  await pools.until(pool, has('template.resumed'), patienceMs);
});
