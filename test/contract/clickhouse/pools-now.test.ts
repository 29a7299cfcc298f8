import { randomUUID } from 'node:crypto';
import type { ClickHouseClient } from '@clickhouse/client';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { EventTable } from '../../../services/event-store/clickhouse.ts';
import { readPoolsNow } from '../../../services/event-store/pools-now.ts';
import type { EventRow } from '../../../services/event-store/row.ts';
import { ClickHouseUnderTest } from '../../support/clickhouse-under-test.ts';
import { eventRow } from '../../support/event-rows.ts';

/** What pools have to do, against LONGREIN_CLICKHOUSE_URL or the embedded engine. */
vi.setConfig({ testTimeout: 60_000 });

let server: ClickHouseUnderTest;
let client: ClickHouseClient;
let table: EventTable;
const pool = `pool-${randomUUID()}`;

beforeAll(async () => {
  server = await ClickHouseUnderTest.open();
  client = server.client;
  table = await server.eventTable();
}, 60_000);

afterAll(() => server.close(), 60_000);

const minuteAgoMs = Date.now() - 60_000;
const opened = { kind: 'input', type: 'session.opened', data: '{"goalId":"g"}' } as const;
const permit = (type: string, tasks: readonly object[]): Partial<EventRow> => ({
  ...{ type, kind: type === 'permit.granted' ? 'input' : 'turn' },
  data: JSON.stringify({ poolLog: 'pool', pool, tasks }),
});

let sessions = 0;

async function session(...rows: readonly Partial<EventRow>[]): Promise<void> {
  sessions += 1;
  const values = { tenantId: pool, sessionId: `${pool}-${sessions}`, atMs: minuteAgoMs };
  const all = [opened, ...rows].map((row, offset) => eventRow({ ...values, offset, ...row }));
  await table.insertBatch(all, randomUUID());
}

const task = (taskId: string, type: string, atMs = minuteAgoMs): Partial<EventRow> => ({
  ...{ taskId, type, atMs, attempt: 1 },
  ...(type === 'task.scheduled' ? { pool } : {}),
});

const now = async () => (await readPoolsNow(client)).find((one) => one.pool === pool);

test('a pool has what no worker took, what runs, and what waits for a place; nothing of what ended', async () => {
  await session(
    task('taken', 'task.scheduled'),
    task('left', 'task.scheduled', minuteAgoMs + 30_000),
    task('done', 'task.scheduled'),
    task('taken', 'agent.started'),
    task('done', 'agent.started'),
    task('done', 'task.completed'),
  );
  await session(
    permit('permit.requested', [{ task: 'a' }, { task: 'b' }, { task: 'c' }, { task: 'd' }]),
    permit('permit.granted', [{ task: 'a' }, { task: 'd' }]),
    task('a', 'task.scheduled', minuteAgoMs + 10_000),
    permit('permit.returned', [{ task: 'c', outcome: 'unused' }]),
    task('d', 'task.scheduled'),
    task('d', 'task.failed'),
    permit('permit.returned', [{ task: 'd', outcome: 'failed' }]),
    task('d', 'task.retry-scheduled'),
  );
  // Its host died in the middle; another one has cancelled it since.
  await session(
    task('lost', 'task.scheduled', minuteAgoMs - 60_000),
    task('lost2', 'task.scheduled'),
    { type: 'session.cancelled' },
  );
  const found = await now();
  expect(found).toMatchObject({ pending: 2, waiting: 1, running: 1 });
  // The task that was scheduled fifty seconds ago, not the one that nobody works for any more.
  expect(found?.oldestMs).toBeGreaterThanOrEqual(50_000);
  expect(found?.oldestMs).toBeLessThan(110_000);
});

test('an attempt that begins anew is pending again', async () => {
  const before = await now();
  await session(
    task('one', 'task.scheduled'),
    task('one', 'agent.started'),
    task('one', 'task.failed'),
    task('one', 'task.retry-scheduled'),
    task('one', 'task.scheduled'),
  );
  expect((await now())?.pending).toBe((before?.pending ?? 0) + 1);
});
