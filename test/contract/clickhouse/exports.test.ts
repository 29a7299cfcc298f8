import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ClickHouseClient } from '@clickhouse/client';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { runCli } from '../../../services/console/cli/program.ts';
import { createEventTable } from '../../../services/event-store/clickhouse.ts';
import { migrate } from '../../../services/event-store/migrations.ts';
import { exportEvents } from '../../../services/event-store/parquet/export.ts';
import { importEvents } from '../../../services/event-store/parquet/import.ts';
import { directoryPlace } from '../../../services/event-store/parquet/place.ts';
import { parseRetention, retentionStatements } from '../../../services/event-store/retention.ts';
import { sampleRows } from '../../../services/event-store/sample/sample.ts';
import {
  type EmbeddedClickHouse,
  quietClient,
  startEmbeddedClickHouse,
} from '../../support/embedded-clickhouse.ts';
import { fakeTerminal } from '../../support/fake-terminal.ts';

/** Events leave as Parquet and come back the same; old rows go. On an engine of its own, which it empties. */
vi.setConfig({ testTimeout: 60_000 });

const untilMs = Date.UTC(2026, 2, 1);
const directory = mkdtempSync(join(tmpdir(), 'longrein-export-'));
/** Files of one tenant and day; which parts there are depends on the hashes of its sessions. */
const ofOneDay = 'tenant_id=sample-acme/dt=2026-02-26/events-';
let onePath = '';
const quiet = { info: () => undefined };
let embedded: EmbeddedClickHouse;
let client: ClickHouseClient;

beforeAll(async () => {
  embedded = await startEmbeddedClickHouse();
  client = quietClient(embedded.url, { request_timeout: 120_000 });
  await migrate(client, quiet);
  const rows = sampleRows({ untilMs, days: 3, sessionsPerDay: 6 });
  await createEventTable(client).insertBatch(rows, 'sample');
}, 120_000);

afterAll(async () => {
  await client.close();
  await embedded.stop();
  rmSync(embedded.directory, { recursive: true });
  rmSync(directory, { recursive: true });
}, 60_000);

async function one<T extends object>(query: string): Promise<T> {
  const result = await client.query({ query, format: 'JSONEachRow' });
  return (await result.json<T>())[0] as T;
}

/** All rows of a table, in any order, as one number, and how many there are. */
const printOf = (table: string) =>
  one(`SELECT toString(groupBitXor(cityHash64(*))) AS hash, count() AS n FROM longrein.${table}`);
const sums = () =>
  one(`SELECT (SELECT toString(sum(cost_nano_usd)) FROM longrein.costs_hourly) AS hourly,
    (SELECT toString(sum(cost_nano_usd)) FROM longrein.sessions) AS sessions,
    (SELECT count() FROM longrein.tasks) AS tasks`);

const wish = {
  to: directoryPlace(directory),
  fromDay: '1970-01-01',
  toDay: '2200-01-01',
  report: () => undefined,
};

describe('exports', () => {
  test('rows, rollups and views are the same after a way out and back', async () => {
    const before = { events: await printOf('events'), sums: await sums() };
    const { files } = await exportEvents(client, { ...wish, rowsPerFile: 60 });
    expect(files.length).toBeGreaterThan(12);
    expect(files.filter(({ path }) => path.startsWith(ofOneDay)).length).toBeGreaterThan(1);
    [onePath = ''] = files.map(({ path }) => path).filter((path) => path.startsWith(ofOneDay));
    await client.command({ query: 'DROP DATABASE longrein SYNC' });
    await migrate(client, quiet);
    const done = await importEvents(client, directoryPlace(directory), () => undefined);
    expect(done.written).toBe(files.length);
    expect({ events: await printOf('events'), sums: await sums() }).toEqual(before);
  });

  test('what is there already is left alone', async () => {
    const before = await printOf('events');
    const done = await importEvents(client, directoryPlace(directory), () => undefined);
    expect(done).toMatchObject({ written: 0, rows: 0 });
    expect(await printOf('events')).toEqual(before);
  });

  test('Athena is told every column, with types that it knows', () => {
    const table = readFileSync(join(directory, 'athena.sql'), 'utf8');
    expect(table).toContain('`cost_nano_usd` bigint');
    expect(table).toContain('`labels` map<string,string>');
    expect(table).toContain('PARTITIONED BY (`tenant_id` string, `dt` string)');
    expect(table).not.toMatch(/unsigned|UInt/);
  });

  test('a file that was changed is named, and nothing is written', async () => {
    const before = await printOf('events');
    const path = join(directory, onePath);
    const whole = readFileSync(path);
    writeFileSync(path, whole.subarray(0, -9));
    await expect(
      importEvents(client, directoryPlace(directory), () => undefined),
    ).rejects.toMatchObject({
      code: 'EXPORT_BROKEN',
      message: expect.stringContaining(onePath),
    });
    writeFileSync(path, whole);
    expect(await printOf('events')).toEqual(before);
  });

  test('a day of which some rows are there is refused', async () => {
    await client.command({
      query: `ALTER TABLE longrein.events DELETE WHERE tenant_id = 'sample-acme' AND k_offset % 2 = 1`,
      clickhouse_settings: { mutations_sync: '1' },
    });
    await expect(
      importEvents(client, directoryPlace(directory), () => undefined),
    ).rejects.toMatchObject({
      code: 'EXPORT_OVERLAPS',
    });
  });

  test('an export that is none says so', async () => {
    const none = importEvents(client, directoryPlace(join(directory, 'nowhere')), () => undefined);
    await expect(none).rejects.toMatchObject({ code: 'EXPORT_BROKEN' });
  });
});

test('rows go by class and tenant when their time is over', async () => {
  const rules = parseRetention({
    rules: [
      { class: 'events', keep: '20000d' },
      { class: 'events', tenant: 'sample-globex', keep: '1d' },
      { class: 'details', tenant: 'sample-globex', keep: '1d' },
      { class: 'rollups', keep: '20000d' },
    ],
  });
  for (const query of retentionStatements(rules)) await client.command({ query });
  for (const table of ['events', 'calls_thin'])
    await client.command({ query: `OPTIMIZE TABLE longrein.${table} FINAL` });
  const left = await one(`SELECT
    (SELECT count() FROM longrein.events WHERE tenant_id = 'sample-globex') AS events,
    (SELECT count() FROM longrein.model_calls WHERE tenant_id = 'sample-globex') AS calls,
    (SELECT count() > 0 FROM longrein.events WHERE tenant_id = 'sample-acme') AS others,
    (SELECT sum(calls) > 0 FROM longrein.costs_hourly WHERE tenant_id = 'sample-globex') AS sums`);
  expect(left).toEqual({ events: 0, calls: 0, others: 1, sums: 1 });
});

describe('on the command line', () => {
  const work = join(directory, 'work');
  const run = async (line: string) => {
    const terminal = fakeTerminal();
    const environment = { LONGREIN_CLICKHOUSE_URL: embedded.url, LONGREIN_STATE_DIR: work };
    const words = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare);
    const code = await runCli(words as string[], { environment, workingDir: directory, terminal });
    return { code, stdout: terminal.stdout, stderr: terminal.stderr };
  };
  const ofInitech = () =>
    one<{ hash: string; n: string }>(`SELECT toString(groupBitXor(cityHash64(*))) AS hash,
      count() AS n FROM longrein.events WHERE tenant_id = 'sample-initech' AND at >= today() - 3`);

  test('migrate brings an empty engine to this release, and has nothing to do the second time', async () => {
    await client.command({ query: 'DROP DATABASE longrein SYNC' });
    const missing = await run('migrate --dry-run');
    expect(missing).toMatchObject({ code: 1, stdout: expect.stringContaining('missing  001_') });
    const first = await run('migrate');
    expect(first).toMatchObject({ code: 0, stdout: expect.stringContaining('applied  001_') });
    const again = await run('migrate');
    expect(again.code).toBe(0);
    expect(again.stdout).toMatch(/^The schema has version \d+\.\n$/);
    expect(await run('migrate --dry-run')).toMatchObject({
      ...{ code: 0, stdout: 'Nothing is missing.\n' },
    });
  });

  test('every line of the analysts’ guide answers', async () => {
    const guide = readFileSync(new URL('../../../docs/analytics.md', import.meta.url), 'utf8');
    const block = /```\n(longrein up\n[\s\S]*?)```/.exec(guide)?.[1] ?? '';
    const lines = block.split('\n').map((line) => line.replace(/#.*$/, '').trim());
    // A stack is up here already, and a conversation needs somebody who talks.
    const here = lines.filter((line) => !['', 'longrein up', 'longrein sql'].includes(line));
    expect(here.length).toBe(lines.filter((line) => line !== '').length - 2);
    for (const line of here) {
      const { code, stdout } = await run(line.replace(/^longrein /, ''));
      expect({ line, code }).toEqual({ line, code: 0 });
      expect(stdout.split('\n').length, line).toBeGreaterThan(2);
    }
    const sql = await run('sql --format csv "SELECT count() AS n FROM sessions"');
    expect(sql.stdout.trim().split('\n').at(-1)).toBe('420');
    for (const by of ['tenant', 'model', 'pool', 'release', 'day', 'label:team'])
      expect((await run(`cost --by ${by}`)).stdout, by).toMatch(/█/);
  });

  test('events go out, are lost, and come back', async () => {
    const before = await ofInitech();
    const out = await run('events export --to out --tenant sample-initech --since 3d --json');
    expect(out.code).toBe(0);
    expect(JSON.parse(out.stdout)).toMatchObject({ rows: Number(before.n) });
    expect(await run('sample-data --remove')).toMatchObject({ code: 0 });
    expect(Number((await ofInitech()).n)).toBe(0);
    const back = await run('events import out');
    expect(back).toMatchObject({ code: 0, stdout: expect.stringContaining('rows written; 0 ') });
    expect(await ofInitech()).toEqual(before);
    const again = await run('events import out --json');
    expect(JSON.parse(again.stdout)).toMatchObject({ written: 0, rows: 0 });
  });

  test('rules of retention are shown, and applied only where one says so', async () => {
    writeFileSync(join(directory, 'keep.yaml'), 'rules:\n  - { class: events, keep: 19999d }\n');
    const query = `SELECT create_table_query AS text FROM system.tables
      WHERE database = 'longrein' AND name = 'events'`;
    const before = await one<{ text: string }>(query);
    expect((await run('events retention keep.yaml')).stdout).toContain(
      'ALTER TABLE longrein.events',
    );
    expect(await one(query)).toEqual(before);
    expect(await run('events retention keep.yaml --apply')).toMatchObject({ code: 0, stderr: '' });
    expect(await one(query)).not.toEqual(before);
    // A class that has no rule any more keeps all.
    writeFileSync(join(directory, 'keep.yaml'), 'rules:\n  - { class: rollups, keep: 19999d }\n');
    expect(await run('events retention keep.yaml --apply')).toMatchObject({ code: 0, stderr: '' });
    const text = (await one<{ text: string }>(query)).text;
    expect(text).not.toContain(' TTL ');
  });
});
