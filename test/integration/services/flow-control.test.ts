import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { poolsTopic } from '../../../schemas/topics.ts';
import { packageRoot } from '../../../services/chassis/config/package-root.ts';
import { poolLogId, sessionId } from '../../../services/chassis/protocol/ids.ts';
import { filesOfDocument, temporaryCatalog } from '../../support/document-files.ts';
import { GoalDesk } from '../../support/goal-desk.ts';
import { LiveHost } from '../../support/live-hosts.ts';
import { fixture, stackUnderTest } from '../../support/live-stack.ts';
import { type SessionLog, SessionLogs } from '../../support/session-log.ts';
import { expectVerified } from '../../support/session-proof.ts';

/** What holds goals back, turns plans about and places goals, on a real broker. */

const stack = stackUnderTest();
const pool = `frail-${process.pid}`;
const sandboxTool = 'deploy/examples/tools/sandbox.run.yaml';
const documented = filesOfDocument('docs/plans.md');
const shownFiles = [
  ...['plans/two-mirrors', 'agents/mirror-reader', 'agents/line-counter'],
  ...['plans/alert-watch', 'agents/alert-judge'],
].map((name) => [`${name}.yaml`, documented[`${name}.yaml`] ?? ''] as const);
const directory = temporaryCatalog({
  ...Object.fromEntries(shownFiles),
  'tools/sandbox.run.yaml': readFileSync(join(packageRoot, sandboxTool), 'utf8'),
  'pools.yaml': `
- { name: ${pool}, description: Breaks., breaker: { failuresMax: 2, coolMs: 1000 } }
- { name: analysis, description: Of the plan in the document. }
`,
  'rules.yaml': '- { name: reports, when: { categories: [report] }, lane: bulk }\n',
  'plans/frail.yaml': `
name: frail
version: 1.0.0
description: One task in a pool with a breaker.
inputs:
  waitMs: { type: number }
tasks:
  - { id: one, pool: ${pool}, agent: counter, input: { counter: frail, waitMs: =inputs.waitMs }, timeoutMs: 2000, attemptsMax: 1 }
output: { kind: collect }
`,
  'tools/frail.wait.yaml': `
name: frail.wait
version: 1.0.0
description: Waits, and does not come back where that takes too long.
category: test
risk: low
sideEffects: none
idempotent: true
runner: { kind: builtin, name: clock.wait }
roles: [tester]
timeoutMs: 3000
breaker: { failuresMax: 2, coolMs: 15000 }
inputSchema:
  type: object
  additionalProperties: false
  properties: { waitMs: { type: integer, minimum: 0 } }
  required: [waitMs]
`,
  'plans/parts.yaml': `
name: parts
version: 1.0.0
description: Waits in child sessions, one for each wait.
inputs:
  waits: { type: array }
tasks:
  - id: each
    pool: test
    agent: counter
    input: { counter: parts, waitMs: =item }
    timeoutMs: 300000
    fanOut: { over: =inputs.waits, onBranchFailure: continue, spread: { above: 0, perSession: 1 } }
output: { kind: collect }
`,
  'agents/waiter.yaml': `
kind: procedure
name: waiter
version: 1.0.0
description: Waits by way of a tool that has a breaker.
role: tester
tools: [frail.wait]
steps:
  - { id: wait, tool: frail.wait, arguments: { waitMs: =input.waitMs } }
output: =steps.wait
`,
  'plans/wait.yaml': `
name: wait
version: 1.0.0
description: One call of a tool that has a breaker.
inputs:
  waitMs: { type: number }
tasks:
  - { id: one, pool: analysis, agent: waiter, input: { waitMs: =inputs.waitMs }, attemptsMax: 1 }
output: { kind: collect }
`,
});
let host: LiveHost;
let desk: GoalDesk;

beforeAll(async () => {
  host = await new LiveHost({
    stack,
    eventStore: false,
    catalog: [fixture('catalog'), directory.path],
  }).ready();
  desk = await GoalDesk.open(stack);
});
afterAll(async () => {
  await desk.close();
  await host.remove();
  directory.remove();
});

describe('goals of one key with debounceMs', () => {
  it('give way to the newest, which runs', async () => {
    const key = `debounced-${process.pid}`;
    const goal = { plan: 'echo', inputs: { said: 'x' }, key, debounceMs: 3_000 };
    const first = await desk.submit(goal);
    const newest = await desk.submit(goal);
    expect(await desk.result(newest)).toMatchObject({ status: 'completed' });
    const { status, error } = await desk.result(first);
    expect([status, error?.code]).toEqual(['rejected', 'SUPERSEDED']);
  });
});

describe('a pool that does not work', () => {
  it('is paused, and goes on when a probe shows that it works again', async () => {
    for (const waitMs of [20_000, 20_000]) {
      const late = await desk.submit({ plan: 'frail', inputs: { waitMs } });
      expect(await desk.result(late)).toMatchObject({ status: 'failed' });
    }
    const quick = await desk.submit({ plan: 'frail', inputs: { waitMs: 0 } });
    expect(await desk.result(quick)).toMatchObject({ status: 'completed' });
    const logs = await SessionLogs.open(stack, poolsTopic);
    const log = await logs.until(poolLogId(pool), ({ events }) =>
      events.some(({ type }) => type === 'pool.resumed'),
    );
    await logs.close();
    const said = log.events.filter(({ type }) => type.startsWith('pool.'));
    expect(said.map(({ type }) => type)).toEqual(['pool.paused', 'pool.resumed']);
  });
});

describe('a tool that does not work', () => {
  const wait = async (waitMs: number) =>
    desk.result(await desk.submit({ plan: 'wait', inputs: { waitMs } }));

  it('is not called for a while, says until when, and comes back by a probe', async () => {
    for (const waitMs of [20_000, 20_000])
      expect((await wait(waitMs)).error?.code).toBe('TOOL_DEADLINE');
    const { status, error } = await wait(0);
    expect([status, error?.code]).toEqual(['failed', 'TOOL_SUSPENDED']);
    const [until = ''] = /\d{4}-\d\d-\d\dT[\d:.]+Z/.exec(error?.message ?? '') ?? [];
    await new Promise((resolve) => setTimeout(resolve, Date.parse(until) - Date.now() + 50));
    expect(await wait(0)).toMatchObject({ status: 'completed' });
    expect(await wait(0)).toMatchObject({ status: 'completed' });
  });
});

describe('goals of one key whose loop goals wake', () => {
  it('go into the session that has the key, and say so', async () => {
    const key = `incident-${process.pid}`;
    const alert = (errors: number) => desk.submit({ plan: 'alert-watch', key, inputs: { errors } });
    const first = await alert(1);
    const second = await desk.result(await alert(2));
    const third = await desk.result(await alert(9));
    const { session, output } = await desk.result(first);
    expect(output).toEqual({
      watch: { iterations: 3, exit: 'when', last: { errors: [1, 2, 9], worst: 'critical' } },
    });
    const taken = [second, third].map(({ status, takenBy }) => [status, takenBy]);
    const by = (iteration: number) => ({ session, task: 'watch', iteration });
    expect(taken).toEqual([
      ['completed', by(2)],
      ['completed', by(3)],
    ]);
    await expectVerified(stack, [session]);
    const after = await desk.result(await alert(9));
    expect(after).toMatchObject({ status: 'completed', output: { watch: { iterations: 1 } } });
  });
});

describe('one child of a goal that is called off', () => {
  it('ends alone, and the goal goes on without its branches', async () => {
    const goal = await desk.submit({ plan: 'parts', inputs: { waits: [250_000, 0] } });
    const session = sessionId('default', '', goal);
    const child = sessionId('default', session, 'each/1');
    const logs = await SessionLogs.open(stack);
    const begun = ({ events }: SessionLog) => events.some(({ type }) => type === 'tool.claimed');
    await logs.until(child, begun);
    await desk.send({ cancel: goal, child, reason: 'It waits for nothing.' });
    expect(await desk.result(goal)).toMatchObject({
      ...{ status: 'completed', output: { each: [null, { waitedMs: 0 }] } },
    });
    const { events } = await logs.closed(child);
    expect(events.map(({ type }) => type)).toContain('session.cancelled');
    await logs.closed(session);
    await logs.close();
    await expectVerified(stack, [session, child]);
  });
});

describe('a plan with rules for another try', () => {
  it('goes another way when a task fails, and keeps what is done', async () => {
    const goal = await desk.submit({ plan: 'two-mirrors' });
    const { status, output } = await desk.result(goal);
    expect(status).toBe('completed');
    expect(output).toEqual({ again: { lines: ['one', 'two'] }, sum: { count: 2 } });
  });
});

describe('a rule of the catalog', () => {
  it('gives a goal its lane', async () => {
    const labels = { category: 'report' };
    const goal = await desk.submit({ plan: 'echo', inputs: { said: 'x' }, labels });
    const { session } = await desk.result(goal);
    const logs = await SessionLogs.open(stack, 'longrein.sessions.bulk');
    const log = await logs.until(session, ({ events }) => events.length > 0);
    await logs.close();
    expect(log.events[0]?.data).toMatchObject({ lane: 'bulk', priority: 'bulk' });
  });
});
