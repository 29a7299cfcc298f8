import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { ClickHouseClient } from '@clickhouse/client';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { parametersFor, readReadyQueries } from '../../../services/console/cli/ready-query.ts';
import { loadSample, removeSample } from '../../../services/event-store/sample/load.ts';
import {
  type EmbeddedClickHouse,
  quietClient,
  startEmbeddedClickHouse,
} from '../../support/embedded-clickhouse.ts';

/**
 * Every ready question on the sample data, against LONGREIN_CLICKHOUSE_URL or the embedded engine.
 * `LONGREIN_GOLDEN=write` writes the answers anew.
 */
vi.setConfig({ testTimeout: 60_000 });

const goldenPath = new URL('../../fixtures/queries/golden.json', import.meta.url);
const untilMs = Date.UTC(2026, 2, 1);
const sinceMs = untilMs - 30 * 86_400_000;
const dayMs = 86_400_000;

const dictionaryTables = [
  ...['sessions', 'tasks', 'agent_steps', 'model_calls', 'tool_calls', 'sandbox_runs'],
  ...[
    'child_sessions',
    'delegations',
    'questions',
    'pool_load',
    'pools_now',
    'costs_hourly',
    'late_outcomes',
    'events',
  ],
] as const;

type Golden = Record<string, { rows: number; first: unknown[] }>;

let embedded: EmbeddedClickHouse | undefined;
let client: ClickHouseClient;
/** Who asks: on the embedded engine the restricted user, as people do. */
let analyst: ClickHouseClient;
let answers: Golden = {};

beforeAll(async () => {
  const given = process.env.LONGREIN_CLICKHOUSE_URL;
  embedded = given === undefined ? await startEmbeddedClickHouse() : undefined;
  client = quietClient(given ?? embedded?.url ?? '', { request_timeout: 120_000 });
  const asked = given === undefined ? { username: 'analyst' } : {};
  analyst = quietClient(given ?? embedded?.url ?? '', { ...asked, database: 'longrein' });
  await loadInOneOrder();
  for (const query of readReadyQueries()) answers[query.name] = await answerOf(query.name);
  if (process.env.LONGREIN_GOLDEN === 'write')
    writeFileSync(goldenPath, `${JSON.stringify(answers, null, 1)}\n`);
}, 180_000);

afterAll(async () => {
  await removeSample(client);
  await Promise.all([client.close(), analyst.close()]);
  if (embedded === undefined) return;
  await embedded.stop();
  rmSync(embedded.directory, { recursive: true });
}, 60_000);

/** Sketches of quantiles hang on the order in which parts are merged: here all are merged once, in the order of inserts. */
async function loadInOneOrder(): Promise<void> {
  // Brings the schema, too; while merges are stopped nothing can be taken out.
  await removeSample(client);
  await client.command({ query: 'SYSTEM STOP MERGES longrein.costs_hourly' });
  await loadSample(client, untilMs);
  await client.command({ query: 'SYSTEM START MERGES longrein.costs_hourly' });
  await client.command({ query: 'OPTIMIZE TABLE longrein.costs_hourly FINAL' });
}

async function rowsOf(query: string, query_params: Record<string, string>): Promise<unknown[]> {
  // One thread: sketches of quantiles then meet in one order.
  const clickhouse_settings = { max_threads: 1 };
  const result = await analyst.query({
    ...{ query, query_params, clickhouse_settings },
    format: 'JSONCompactEachRow',
  });
  return result.json();
}

async function answerOf(name: string): Promise<Golden[string]> {
  const query = readReadyQueries().find((one) => one.name === name);
  if (query === undefined) throw new Error(`no query ${name}`);
  const [costliest] = await rowsOf(
    `SELECT session_id FROM longrein.sessions WHERE tenant_id = 'sample-acme'
      ORDER BY cost_nano_usd DESC, session_id LIMIT 1`,
    {},
  );
  const session = String((costliest as unknown[])[0]);
  const isSoFar = name === 'running-sessions' || name === 'budget-forecast';
  const until = isSoFar ? untilMs : untilMs + dayMs;
  const given = { tenant: '', sinceMs, untilMs: until, more: {} };
  const values =
    name === 'session-timeline'
      ? parametersFor(query, { ...given, tenant: 'sample-acme', more: { session } })
      : parametersFor(query, given);
  const rows = await rowsOf(query.sql, values);
  return { rows: rows.length, first: rows.slice(0, 6) };
}

describe('ready questions', () => {
  const queries = readReadyQueries();
  const golden = JSON.parse(readFileSync(goldenPath, 'utf8')) as Golden;

  test('there are at least 25, each with a title', () => {
    expect(queries.length).toBeGreaterThanOrEqual(25);
    for (const { title, name } of queries) expect(title, name).toMatch(/^[A-Z].+\.$/);
  });

  test.each(queries.map(({ name }) => name))('%s', (name) => {
    expect(answers[name]?.rows, 'an answer without rows proves nothing').toBeGreaterThan(0);
    expect(answers[name]).toEqual(golden[name]);
  });
});

test('sums by different ways are the same money, to the nano-USD', async () => {
  const one = async (query: string): Promise<string> =>
    String(((await rowsOf(query, {}))[0] as unknown[])[0]);
  const where = `startsWith(tenant_id, 'sample-')`;
  const raw = await one(
    `SELECT toString(sum(cost_nano_usd)) FROM longrein.events WHERE ${where} AND effective = 1`,
  );
  expect(raw).toMatch(/^[1-9]\d+$/);
  for (const table of ['costs_hourly', 'sessions', 'model_calls', 'agent_steps', 'tasks']) {
    const query = `SELECT toString(sum(cost_nano_usd)) FROM longrein.${table} WHERE ${where}`;
    expect(await one(query), table).toBe(raw);
  }
  const usd = `SELECT toString(toDecimal128(sum(cost_usd) * 1000000000, 0))
    FROM longrein.sessions WHERE ${where}`;
  expect(await one(usd)).toBe(raw);
});

test('what agents and models brought adds up to what the tenants brought', async () => {
  const named = (name: string) => {
    const query = readReadyQueries().find((one) => one.name === name);
    if (query === undefined) throw new Error(`no query ${name}`);
    const given = { tenant: '', sinceMs, untilMs: untilMs + dayMs, more: {} };
    return { sql: query.sql, values: parametersFor(query, given) };
  };
  const brought = async (name: string): Promise<number> => {
    const { sql, values } = named(name);
    const [row] = await rowsOf(`SELECT sum(toFloat64(value_usd)) FROM (${sql})`, values);
    return Number((row as unknown[])[0]);
  };
  const whole = await brought('return-by-tenant');
  expect(whole).toBeGreaterThan(1);
  for (const name of ['return-by-agent', 'return-by-model'])
    expect(await brought(name), name).toBeCloseTo(whole, 4);
  const ofTools = await brought('return-by-tool');
  expect(ofTools).toBeGreaterThan(1);
  expect(ofTools, 'steps that called no tool brought the rest').toBeLessThan(whole);
});

describe('documents and dashboards', () => {
  const root = new URL('../../../', import.meta.url);
  const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');
  const guide = [...read('docs/analytics.md').matchAll(/```sql\n([\s\S]*?)```/g)];

  test.each(guide.map((found, index) => [index + 1, found[1] ?? ''] as const))(
    'query %s of the guide for analysts has an answer',
    async (_, query) => {
      expect((await rowsOf(query, {})).length).toBeGreaterThan(0);
    },
  );

  /** What Grafana's plugin puts in. */
  const filled = (rawSql: string): string => {
    const [from, to] = [`toDateTime(${sinceMs / 1_000})`, `toDateTime(${untilMs / 1_000})`];
    return rawSql
      .replace(/\$__timeFilter\((\w+)\)/g, `$1 >= ${from} AND $1 <= ${to}`)
      .replaceAll('$__fromTime', from)
      .replaceAll('$__toTime', to)
      .replace(/\$\{tenant:singlequote\}/g, `'sample-acme','sample-globex'`);
  };

  test.each(['cost', 'operations'])('every panel of dashboard %s has an answer', async (name) => {
    type Panel = { title: string; targets: readonly { rawSql: string }[] };
    const { panels } = JSON.parse(read(`deploy/grafana/${name}.json`)) as { panels: Panel[] };
    expect(panels.length).toBeGreaterThan(8);
    for (const { title, targets } of panels) {
      for (const { rawSql } of targets)
        expect((await rowsOf(filled(rawSql), {})).length, title).toBeGreaterThan(0);
    }
  });

  test('the data dictionary says what the database says', async () => {
    const columns = (await rowsOf(
      `SELECT table, name, type, comment FROM system.columns WHERE database = 'longrein'
        AND table IN (${dictionaryTables.map((table) => `'${table}'`).join()})
        ORDER BY indexOf([${dictionaryTables.map((table) => `'${table}'`).join()}], table), position`,
      {},
    )) as [string, string, string, string][];
    const comments = new Map(
      (await rowsOf(`SELECT name, comment FROM system.tables WHERE database = 'longrein'`, {})) as [
        string,
        string,
      ][],
    );
    const parts = dictionaryTables.map((table) => {
      const rows = columns.filter(([of]) => of === table);
      const lines = rows.map(([, name, type, comment]) => `| \`${name}\` | ${type} | ${comment} |`);
      return `## ${table}\n\n${comments.get(table)}\n\n| column | type | meaning |\n| --- | --- | --- |\n${lines.join('\n')}\n`;
    });
    const text = `# Data dictionary\n\nMade from the comments in the database; a test checks that they agree.\n\n${parts.join('\n')}`;
    const path = new URL('docs/data-dictionary.md', root);
    if (process.env.LONGREIN_GOLDEN === 'write') writeFileSync(path, text);
    expect(read('docs/data-dictionary.md')).toBe(text);
  });
});

test('the sample can be taken out again, and put in again', async () => {
  const count = async (): Promise<number> =>
    Number(((await rowsOf(`SELECT count() FROM longrein.sessions`, {}))[0] as unknown[])[0]);
  const before = await count();
  await removeSample(client);
  expect(await count()).toBe(before - 420);
  await loadSample(client, untilMs);
  expect(await count()).toBe(before);
  answers = {};
});
