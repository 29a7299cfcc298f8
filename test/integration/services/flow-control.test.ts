import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { poolsTopic } from '../../../schemas/topics.ts';
import { packageRoot } from '../../../services/chassis/config/package-root.ts';
import { poolLogId } from '../../../services/chassis/protocol/ids.ts';
import { filesOfDocument, temporaryCatalog } from '../../support/document-files.ts';
import { GoalDesk } from '../../support/goal-desk.ts';
import { LiveHost } from '../../support/live-hosts.ts';
import { fixture, stackUnderTest } from '../../support/live-stack.ts';
import { SessionLogs } from '../../support/session-log.ts';

/** What holds goals back, turns plans about and places goals, on a real broker. */

const stack = stackUnderTest();
const pool = `frail-${process.pid}`;
const sandboxTool = 'deploy/examples/tools/sandbox.run.yaml';
const documented = filesOfDocument('docs/plans.md');
const replanFiles = ['plans/two-mirrors', 'agents/mirror-reader', 'agents/line-counter'].map(
  (name) => [`${name}.yaml`, documented[`${name}.yaml`] ?? ''] as const,
);
const directory = temporaryCatalog({
  ...Object.fromEntries(replanFiles),
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
});
let host: LiveHost;
let desk: GoalDesk;

beforeAll(async () => {
  host = await new LiveHost({ stack, catalog: [fixture('catalog'), directory.path] }).ready();
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
