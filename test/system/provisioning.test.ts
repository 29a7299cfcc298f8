import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bodyOf, textOf } from '../../schemas/event.ts';
import { sessionId } from '../../services/chassis/protocol/ids.ts';
import { temporaryCatalog } from '../support/document-files.ts';
import { GoalDesk } from '../support/goal-desk.ts';
import { LiveHost } from '../support/live-hosts.ts';
import { examples, stackUnderTest } from '../support/live-stack.ts';
import { eventsOf, type SessionLog, SessionLogs } from '../support/session-log.ts';
import { expectVerified } from '../support/session-proof.ts';

/**
 * An agent asks the MCP server of its tool before it begins, on a real broker and with a real process: it is down, comes up,
 * lacks the tool, takes something else, refuses. The test changes the server's mood when the log says that it is time.
 */

const stack = stackUnderTest();
const agent = (name: string, more = ''): string => `
kind: procedure
name: ${name}
version: 1.0.0
description: Counts what lies on a shelf.
role: clerk
tools: [shelf.count]
steps: [{ id: count, tool: shelf.count, arguments: { shelf: a1 } }]
output: =steps.count
${more}`;
const plan = (name: string, worker: string): string => `
name: ${name}
version: 1.0.0
description: Counts.
tasks: [{ id: count, pool: files, agent: ${worker}, attemptsMax: 1, backoffMs: 2000, timeoutMs: 600000 }]
output: { kind: collect, shape: =tasks.count }
`;
const directory = temporaryCatalog({
  'mcp-servers.yaml': `
moody:
  package: moody-server
  bin: moody-server
  args: ['\${workspace}/mood']
  startTimeoutMs: 60000
`,
  'tools/shelf.count.yaml': `
name: shelf.count
version: 1.0.0
description: Counts what lies on a shelf.
category: stock
risk: low
sideEffects: read
runner: { kind: mcp, server: moody, tool: count }
roles: [clerk]
timeoutMs: 60000
inputSchema:
  type: object
  additionalProperties: false
  properties: { shelf: { type: string } }
  required: [shelf]
`,
  'agents/plain-clerk.yaml': agent('plain-clerk'),
  'agents/patient-clerk.yaml': agent('patient-clerk', 'onError: { restart: 5 }\n'),
  'agents/blind-clerk.yaml': agent('blind-clerk', 'provisioning: { servers: skip }\n'),
  'plans/plain.yaml': plan('plain', 'plain-clerk'),
  'plans/patient.yaml': plan('patient', 'patient-clerk'),
  'plans/blind.yaml': plan('blind', 'blind-clerk'),
});
const workspace = mkdtempSync(join(tmpdir(), 'longrein-moody-'));
const feel = (mood: string): void => writeFileSync(join(workspace, 'mood'), mood);
let host: LiveHost;
let desk: GoalDesk;
let logs: SessionLogs;

beforeAll(async () => {
  feel('down');
  const catalog = [examples, directory.path];
  host = new LiveHost({ stack, catalog, env: { LONGREIN_WORKSPACE: workspace } });
  await host.ready(240_000);
  desk = await GoalDesk.open(stack);
  logs = await SessionLogs.open(stack);
}, 300_000);
afterAll(async () => {
  await Promise.all([logs, desk].map((one) => one?.close()));
  await host.remove();
  directory.remove();
  rmSync(workspace, { recursive: true, force: true });
});

/** A busy machine takes its time. */
const patienceMs = 180_000;

const toolsOf = (at: SessionLog) => eventsOf(at, 'tool.requested').map(({ data }) => data.tool);

async function begin(name: string) {
  const id = await desk.submit({ plan: name });
  return { id, session: sessionId('default', '', id) };
}

async function end({ id, session }: Readonly<{ id: string; session: string }>) {
  const result = await desk.result(id, patienceMs);
  const closed = await logs.closed(session, patienceMs);
  await expectVerified(stack, [session]);
  return { result, closed };
}

const run = async (name: string) => end(await begin(name));
const failureOf = (closed: SessionLog) => {
  const [failed] = eventsOf(closed, 'task.failed');
  return { ...failed?.data, message: textOf(failed?.content.message) };
};

test('a server that is down fails the agent before its first call, and the result says why', async () => {
  const { result, closed } = await run('plain');
  expect(result.status).toBe('failed');
  expect(toolsOf(closed)).toEqual(['mcp.check.moody']);
  expect(eventsOf(closed, 'agent.started')).toEqual([]);
  const failure = failureOf(closed);
  expect(failure).toMatchObject({ code: 'MCP_START_FAILED', class: 'unavailable' });
  expect(failure.message).toContain('Agent "plain-clerk" did not begin. The MCP server moody');
  expect(failure.message).toContain('cannot reach the warehouse');
});

test('an agent that may begin again does so until the server is up', async () => {
  const goal = await begin('patient');
  await logs.until(
    goal.session,
    (at) => eventsOf(at, 'task.retry-scheduled').length > 0,
    patienceMs,
  );
  feel('well');
  const { result, closed } = await end(goal);
  expect(result).toMatchObject({ status: 'completed', output: { shelf: 'a1', stock: 12 } });
  const asked = toolsOf(closed);
  expect(asked.length).toBeGreaterThan(2);
  expect(asked.at(-1)).toBe('shelf.count');
  expect(new Set(asked.slice(0, -1))).toEqual(new Set(['mcp.check.moody']));
  const [well] = eventsOf(closed, 'tool.completed');
  expect(bodyOf(well?.content.result)).toMatchObject({
    ...{ server: 'moody', count: 2, tools: ['count', 'other'] },
    schemas: { 'shelf.count': expect.stringMatching(/^[0-9a-f]{64}$/) },
  });
  expect(eventsOf(closed, 'agent.completed')[0]?.data.toolCalls).toBe(1);
});

test.each([
  ['lacking', { code: 'MCP_TOOL_UNKNOWN', class: 'not-found' }, 'has no tool count'],
  ['changed', { code: 'MCP_SCHEMA_CHANGED', class: 'invalid-arguments' }, 'requires "row"'],
  ['sullen', { code: 'MCP_CHECK_REFUSED', class: 'denied' }, 'the licence has run out'],
])('a server that is %s fails the agent for good', async (mood, failure, why) => {
  feel(mood);
  const { result, closed } = await run('plain');
  expect(result.status).toBe('failed');
  expect(failureOf(closed)).toMatchObject({ ...failure, retryable: false });
  expect(failureOf(closed).message).toContain(why);
  expect(toolsOf(closed)).toEqual(['mcp.check.moody']);
});

test('an agent that does not want to know finds out by its first call', async () => {
  feel('lacking');
  const { closed } = await run('blind');
  expect(toolsOf(closed)).toEqual(['shelf.count']);
  expect(eventsOf(closed, 'agent.started')).toHaveLength(1);
});
