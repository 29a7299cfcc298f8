import { randomUUID } from 'node:crypto';
import type { ClickHouseClient } from '@clickhouse/client';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createEventTable, type EventTable } from '../../../services/event-store/clickhouse.ts';
import { migrate, readMigrations } from '../../../services/event-store/migrations.ts';
import { ClickHouseUnderTest } from '../../support/clickhouse-under-test.ts';
import { quietClient } from '../../support/embedded-clickhouse.ts';
import { eventRow, eventRows } from '../../support/event-rows.ts';

/**
 * The schema and the writer of `longrein.events`, against LONGREIN_CLICKHOUSE_URL or the embedded
 * engine.
 */
vi.setConfig({ testTimeout: 60_000 });

let server: ClickHouseUnderTest;
let client: ClickHouseClient;
let table: EventTable;
const logger = { info: () => undefined };

beforeAll(async () => {
  server = await ClickHouseUnderTest.open();
  client = server.client;
  table = await server.eventTable();
}, 60_000);

afterAll(() => server.close(), 60_000);

async function all(
  query: string,
  query_params: Record<string, unknown> = {},
): Promise<readonly unknown[]> {
  const result = await client.query({ query, query_params, format: 'JSONEachRow' });
  return result.json();
}

const one = async (query: string, query_params: Record<string, unknown> = {}): Promise<unknown> =>
  (await all(query, query_params))[0];

describe('migrations', () => {
  test('a second run applies nothing', async () => {
    const newest = readMigrations().at(-1)?.version;
    expect(await migrate(client, logger)).toEqual({ version: newest, applied: [] });
  });

  test('each statement can be run again', async () => {
    for (const { statements } of readMigrations()) {
      for (const query of statements) await client.command({ query });
    }
  });

  test('a schema newer than the release is refused', async () => {
    const older = readMigrations().slice(0, -1);
    await expect(migrate(client, logger, older)).rejects.toMatchObject({
      code: 'CLICKHOUSE_SCHEMA_NEWER',
    });
  });

  test('an edited migration is refused', async () => {
    const edited = readMigrations().map((each) => ({ ...each, sha256: 'another' }));
    await expect(migrate(client, logger, edited)).rejects.toMatchObject({
      code: 'CLICKHOUSE_MIGRATION_CHANGED',
    });
  });
});

describe('writing', () => {
  const where = 'WHERE tenant_id = {tenantId: String}';

  test('a row comes back as it was written', async () => {
    const data = '{"a":1.0,"b":"\\u0000 \\" 漢 😀","c":[null,{}]}';
    const row = eventRow({
      tenantId: randomUUID(),
      offset: Number.MAX_SAFE_INTEGER,
      causes: ['record#1'],
      labels: { team: 'ä"\n' },
      costNanoUsd: Number.MAX_SAFE_INTEGER,
      atMs: Date.UTC(2026, 1, 3, 4, 5, 6, 7),
      data,
      principal: 'half \ud800 pair',
    });
    await table.insertBatch([row], randomUUID());
    const query = `SELECT toString(k_offset) k_offset, causes, labels,
      toString(cost_nano_usd) cost, at, data
      FROM longrein.events ${where}`;
    expect(await one(query, { tenantId: row.tenantId })).toEqual({
      k_offset: '9007199254740991',
      causes: ['record#1'],
      labels: row.labels,
      cost: '9007199254740991',
      at: '2026-02-03 04:05:06.007',
      data,
    });
  });

  test('the same token again writes nothing, neither rows nor sums', async () => {
    const tenantId = randomUUID();
    const topic = `topic-${tenantId}`;
    // Across a month, so that one insert makes two parts.
    const rows = [
      ...eventRows(300, { tenantId, topic }),
      ...eventRows(300, { tenantId, topic, offset: 300, atMs: Date.UTC(2026, 2, 1) }),
    ];
    const token = `${topic}/3:0-599`;
    for (let attempt = 0; attempt < 3; attempt += 1) await table.insertBatch(rows, token);
    const raw = `SELECT count() n, countIf(type = 'model.completed') calls, sum(cost_nano_usd) cost
      FROM longrein.events ${where}`;
    const cost = rows.reduce((sum, row) => sum + row.costNanoUsd, 0);
    expect(await one(raw, { tenantId })).toEqual({ n: 600, calls: 200, cost });
    const hourly = `SELECT sum(calls) calls, sum(cost_nano_usd) cost
      FROM longrein.costs_hourly ${where}`;
    expect(await one(hourly, { tenantId })).toEqual({ calls: 200, cost });
    const progress = `SELECT min(min_offset) low, max(max_offset) high, sum(records) n
      FROM longrein.sink_progress WHERE k_topic = {topic: String}`;
    expect(await one(progress, { topic })).toEqual({ low: 0, high: 599, n: 600 });
    const session = `SELECT sum(cost_nano_usd) cost, sum(events) n
      FROM longrein.sessions_thin ${where}`;
    expect(await one(session, { tenantId })).toEqual({ cost, n: 600 });
  });

  test('rows that do not count are kept but not summed', async () => {
    const tenantId = randomUUID();
    const rows = eventRows(30, { tenantId, effective: false });
    await table.insertBatch(rows, randomUUID());
    expect(await one(`SELECT count() n FROM longrein.events ${where}`, { tenantId })).toEqual({
      n: 30,
    });
    const hourly = `SELECT count() n FROM longrein.costs_hourly ${where}`;
    expect(await one(hourly, { tenantId })).toEqual({ n: 0 });
  });

  test('an outcome that nobody waited for is priced apart, once, and a copy is not', async () => {
    const tenantId = randomUUID();
    const call = { callId: 'call', costNanoUsd: 700 } as const;
    const outcome = { tenantId, kind: 'input', type: 'model.completed', ...call } as const;
    const rows = [
      eventRow({ ...outcome, offset: 1, recordId: 'counted' }),
      eventRow({ ...outcome, offset: 2, recordId: 'counted', effective: false }),
      eventRow({ ...outcome, offset: 3, recordId: 'late', effective: false }),
      eventRow({ ...outcome, offset: 4, recordId: 'late', effective: false }),
      eventRow({ ...outcome, offset: 5, recordId: 'timer', type: 'timer.fired', effective: false }),
    ];
    await table.insertBatch(rows, randomUUID());
    const late = `SELECT count() n, sum(cost_nano_usd) cost FROM longrein.late_outcomes ${where}`;
    expect(await one(late, { tenantId })).toEqual({ n: 1, cost: 700 });
    const hourly = `SELECT sum(cost_nano_usd) cost FROM longrein.costs_hourly ${where}`;
    expect(await one(hourly, { tenantId })).toEqual({ cost: 700 });
  });

  test('a batch larger than a request is cut, and cut the same when it is repeated', async () => {
    const tenantId = randomUUID();
    const record = 'r'.repeat(1_000_000);
    const rows = Array.from({ length: 35 }, (_, offset) => eventRow({ tenantId, offset, record }));
    const token = randomUUID();
    for (let attempt = 0; attempt < 2; attempt += 1) await table.insertBatch(rows, token);
    expect(await one(`SELECT count() n FROM longrein.events ${where}`, { tenantId })).toEqual({
      n: 35,
    });
  }, 60_000);

  test('an empty batch is nothing', async () => {
    await table.insertBatch([], 'nothing');
  });
});

describe('failures of a write', () => {
  test.each([
    ['index', { index: 65_536 }, 'event_index is 65536'],
    ['tokensIn', { tokensIn: 2 ** 32 }, 'tokens_in is 4294967296'],
    ['costNanoUsd', { costNanoUsd: -1 }, 'cost_nano_usd is -1'],
    ['atMs', { atMs: Number.NaN }, 'at is NaN'],
    ['data', { data: undefined as unknown as string }, 'data is not text'],
    ['causes', { causes: 'none' as unknown as string[] }, 'causes is not a list of text'],
    ['labels', { labels: { a: 5 as unknown as string } }, 'labels is not a map of text'],
  ])('a row with an impossible %s is named before anything is sent', async (_, values, problem) => {
    const rows = [eventRow({ offset: 6 }), eventRow({ offset: 7, ...values })];
    await expect(table.insertBatch(rows, randomUUID())).rejects.toMatchObject({
      code: 'EVENT_ROW_INVALID',
      retryable: false,
      message: expect.stringContaining(problem),
    });
  });

  test('a database that is not there may be tried again', async () => {
    const nobody = quietClient('http://127.0.0.1:1');
    await expect(
      createEventTable(nobody).insertBatch([eventRow()], randomUUID()),
    ).rejects.toMatchObject({ code: 'EVENT_STORE_UNREACHABLE', retryable: true });
    await nobody.close();
  });
});

describe('views', () => {
  test('a session, its model calls, tool calls and tasks can be read by plain names', async () => {
    const tenantId = randomUUID();
    const values = {
      tenantId,
      sessionId: 'views',
      taskId: 'task',
      callId: 'call',
      atMs: 1_768_000_000_000,
    };
    // As the sink writes them: answers carry what their requests said.
    const asked = {
      agentId: 'agt',
      agentType: 'writer',
      pool: 'research',
      step: 1,
      taskAttempt: 1,
    };
    const since = { ...asked, kind: 'input', requestedAtMs: values.atMs - 500 } as const;
    const types: readonly [string, Partial<Parameters<typeof eventRow>[0]>][] = [
      [
        'session.opened',
        { kind: 'input', data: '{"goalId":"goal","source":"test"}', labels: { a: 'b' } },
      ],
      ['task.scheduled', { pool: 'research', attempt: 1 }],
      ['agent.started', { ...asked, atMs: values.atMs + 40 }],
      ['model.requested', asked],
      ['model.failed', { ...since, attempt: 1, tokensIn: 5, costNanoUsd: 7, errorCode: 'BUSY' }],
      [
        'model.completed',
        { ...since, attempt: 2, model: 'm', tokensIn: 10, tokensOut: 3, costNanoUsd: 70 },
      ],
      ['tool.requested', { ...asked, callId: 'tool', tool: 'fs.read' }],
      ['tool.denied', { ...since, callId: 'tool', tool: 'fs.read', errorCode: 'ROLE' }],
      [
        'tool.completed',
        { ...since, callId: 'code', tool: 'code.run', isolation: 'quickjs', sandboxId: 'sbx' },
      ],
      ['task.completed', { atMs: values.atMs + 90, attempt: 1 }],
      ['session.completed', { atMs: 1_768_000_009_000 }],
      ['result.published', {}],
      ['session.closed', {}],
    ];
    const rows = types.map(([type, more], offset) =>
      eventRow({ ...values, offset, type, ...more }),
    );
    await table.insertBatch(rows, randomUUID());
    const view = async (name: string, order = '1') =>
      all(`SELECT * FROM longrein.${name} WHERE tenant_id = {tenantId: String} ORDER BY ${order}`, {
        tenantId,
      });
    const [session] = await view('sessions');
    expect(session).toMatchObject({
      ...{ session_id: 'views', goal_id: 'goal', labels: { a: 'b' }, status: 'completed' },
      ...{ closed: 1, ended_at: '2026-01-09 23:06:49.000', duration_ms: 9_000, tokens_in: 15 },
      ...{ cost_nano_usd: 77, cost_usd: 0.000000077, model_calls: 2, cost_failed_nano_usd: 7 },
    });
    const who = { agent_type: 'writer', agent_id: 'agt', pool: 'research', step: 1 };
    expect(await view('model_calls', 'attempt')).toMatchObject([
      { ...who, attempt: 1, status: 'failed', error_code: 'BUSY', cost_nano_usd: 7 },
      { ...who, attempt: 2, status: 'completed', model: 'm', cost_usd: 0.00000007 },
    ]);
    expect(await view('tool_calls', 'tool DESC')).toMatchObject([
      { ...who, tool: 'fs.read', status: 'denied', error_code: 'ROLE' },
      { ...who, tool: 'code.run', status: 'completed', isolation: 'quickjs' },
    ]);
    expect(await view('sandbox_runs')).toMatchObject([{ sandbox_id: 'sbx', tool: 'code.run' }]);
    expect(await view('agent_steps')).toMatchObject([
      { agent_id: 'agt', model_calls: 2, tool_calls: 2, sandbox_runs: 1, failed_calls: 2 },
    ]);
    const task = { pool: 'research', status: 'completed', attempts: 1, waited_ms: 40, calls: 3 };
    expect(await view('tasks')).toMatchObject([{ ...task, duration_ms: 90, cost_nano_usd: 77 }]);
    expect(await view('pool_load')).toMatchObject([
      { pool: 'research', tasks: 1, completed: 1, waited_ms_p50: 40, busy_ms: 50 },
    ]);
    const costs = `SELECT agent_type, again, sum(calls) n, sum(errors) errors, sum(cost_usd) usd
      FROM longrein.costs_hourly WHERE tenant_id = {tenantId: String}
      GROUP BY agent_type, again ORDER BY again`;
    expect(await all(costs, { tenantId })).toEqual([
      { agent_type: 'writer', again: 0, n: 3, errors: 2, usd: 0.000000007 },
      { agent_type: 'writer', again: 1, n: 1, errors: 0, usd: 0.00000007 },
    ]);
  });

  test('every column of every table and view says what it is', async () => {
    const query = `SELECT table || '.' || name AS name FROM system.columns
      WHERE database = 'longrein' AND comment = ''
        AND table IN ('sessions', 'tasks', 'agent_steps', 'model_calls', 'tool_calls', 'events',
          'sandbox_runs', 'costs_hourly', 'delegations', 'questions', 'pool_load', 'pools_now', 'late_outcomes')`;
    expect(await all(query)).toEqual([]);
  });
});
