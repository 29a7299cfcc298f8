import { randomUUID } from 'node:crypto';
import type { ClickHouseClient } from '@clickhouse/client';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { EventTable } from '../../../services/event-store/clickhouse.ts';
import type { EventRow } from '../../../services/event-store/row.ts';
import { ClickHouseUnderTest } from '../../support/clickhouse-under-test.ts';
import { eventRow } from '../../support/event-rows.ts';

/** Who gave work to whom, and who waited for people, against LONGREIN_CLICKHOUSE_URL or the embedded engine. */
vi.setConfig({ testTimeout: 60_000 });

let server: ClickHouseUnderTest;
let client: ClickHouseClient;
let table: EventTable;
const tenantId = `tenant-${randomUUID()}`;

beforeAll(async () => {
  server = await ClickHouseUnderTest.open();
  client = server.client;
  table = await server.eventTable();
}, 60_000);

afterAll(() => server.close(), 60_000);

const given = (taskId: string, data: object): Partial<EventRow> => ({
  ...{ type: 'task.delegated', taskId, agentId: `${taskId}.1`, agentType: 'chief' },
  data: JSON.stringify({ depth: 1, ...data }),
});

const spent = (taskId: string, costNanoUsd: number): Partial<EventRow> => ({
  ...{ type: 'model.completed', kind: 'input', taskId, costNanoUsd },
});

test('a piece of work costs what was spent for it and for what it was given on to', async () => {
  const rows: readonly Partial<EventRow>[] = [
    given('one', { delegated: 'one/1', to: 'worker', kind: 'delegate' }),
    { type: 'budget.set-aside', taskId: 'one/1', data: '{"task":"one/1","setAsideNanoUsd":500}' },
    given('one/1', { delegated: 'one/1/1', to: 'helper', kind: 'delegate', depth: 2 }),
    given('one', { delegated: 'one/2', to: 'worker', kind: 'handoff' }),
    ...[spent('one', 7), spent('one/1', 20), spent('one/1/1', 3), spent('one/1/1', 4)],
    { type: 'task.completed', taskId: 'one/1/1' },
    { type: 'task.abandoned', taskId: 'one/1' },
  ];
  const atMs = Date.UTC(2026, 4, 1);
  const all = rows.map((row, offset) =>
    eventRow({ tenantId, sessionId: tenantId, atMs, kind: 'turn', offset, ...row }),
  );
  await table.insertBatch(all, randomUUID());
  const answer = await client.query({
    query: `SELECT task_id, by_task_id, by_agent_type, agent_type, kind, depth, status,
        toUInt32(set_aside_nano_usd) AS aside, toUInt32(cost_nano_usd) AS cost
      FROM longrein.delegations WHERE tenant_id = {tenantId:String} ORDER BY task_id`,
    query_params: { tenantId },
    format: 'JSONEachRow',
  });
  const chief = { by_agent_type: 'chief' };
  expect(await answer.json()).toEqual([
    {
      ...{ ...chief, task_id: 'one/1', by_task_id: 'one', agent_type: 'worker', kind: 'delegate' },
      ...{ depth: 1, status: 'failed', aside: 500, cost: 27 },
    },
    {
      ...{ ...chief, task_id: 'one/1/1', by_task_id: 'one/1', agent_type: 'helper' },
      ...{ kind: 'delegate', depth: 2, status: 'completed', aside: 0, cost: 7 },
    },
    {
      ...{ ...chief, task_id: 'one/2', by_task_id: 'one', agent_type: 'worker', kind: 'handoff' },
      ...{ depth: 1, status: 'running', aside: 0, cost: 0 },
    },
  ]);
});

test('a question waited until it was settled, at the latest until its session ended', async () => {
  const asked = (question: string, more: object = {}): Partial<EventRow> => ({
    ...{ type: 'person.asked', taskId: 'one', agentId: 'agt', agentType: 'clerk', attempt: 1 },
    ...{ step: 2, data: JSON.stringify({ question, about: 'question', ...more }) },
  });
  const settled = (question: string, more: object): Partial<EventRow> => ({
    ...{ type: 'person.settled', data: JSON.stringify({ question, ...more }) },
  });
  const escalated = { question: 'q1', to: 'boss', dueAtMs: Date.UTC(2026, 4, 2) };
  const rows: readonly (readonly [session: string, afterMs: number, Partial<EventRow>])[] = [
    ['waits', 0, { type: 'session.opened' }],
    ['waits', 0, asked('q1', { to: 'desk', root: 'above', dueAtMs: 5 })],
    ['waits', 10, { type: 'person.escalated', data: JSON.stringify(escalated) }],
    ['waits', 20, asked('q2', { about: 'budget', amountNanoUsd: 500 })],
    ['waits', 90, settled('q1', { outcome: 'answered', decision: 'denied', answeredBy: 'li' })],
    ['waits', 95, { ...settled('q2', { outcome: 'default' }), effective: false }],
    ['ended', 0, { type: 'session.opened' }],
    ['ended', 5, asked('q3')],
    ['ended', 700, { type: 'session.failed' }],
  ];
  const tenant = `tenant-${randomUUID()}`;
  const startMs = Date.UTC(2026, 4, 1);
  const all = rows.map(([sessionId, afterMs, row], offset) =>
    eventRow({
      tenantId: tenant,
      sessionId,
      atMs: startMs + afterMs,
      kind: 'turn',
      offset,
      ...row,
    }),
  );
  await table.insertBatch(all, randomUUID());
  const answer = await client.query({
    query: `SELECT question_id, root_session_id, about, asked_of, escalations, status, decision,
        answered_by, toInt32(waited_ms) AS waited, toString(due_at) AS due, agent_type, step,
        toUInt32(amount_nano_usd) AS amount
      FROM longrein.questions WHERE tenant_id = {tenant:String} ORDER BY question_id`,
    query_params: { tenant },
    format: 'JSONEachRow',
  });
  const who = { agent_type: 'clerk', step: 2 };
  expect(await answer.json()).toEqual([
    {
      ...{ ...who, question_id: 'q1', root_session_id: 'above', about: 'question' },
      ...{ asked_of: 'boss', escalations: 1, status: 'answered', decision: 'denied', amount: 0 },
      ...{ answered_by: 'li', waited: 90, due: '2026-05-02 00:00:00.000' },
    },
    {
      ...{ ...who, question_id: 'q2', root_session_id: 'waits', about: 'budget', amount: 500 },
      ...{ asked_of: '', escalations: 0, status: 'open', decision: '', answered_by: '' },
      ...{ waited: null, due: null },
    },
    {
      ...{ ...who, question_id: 'q3', root_session_id: 'ended', about: 'question', amount: 0 },
      ...{ asked_of: '', escalations: 0, status: 'withdrawn', decision: '', answered_by: '' },
      ...{ waited: 695, due: null },
    },
  ]);
});
