import { once } from 'node:events';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import type { ClickHouseClient } from '@clickhouse/client';
import { afterEach, describe, expect, test } from 'vitest';
import { usualMasks } from '../../../services/chassis/telemetry/masks.ts';
import { createEventTable } from '../../../services/event-store/clickhouse.ts';
import { maskStatements, rightsAreBuiltIn } from '../../../services/event-store/masked-view.ts';
import { migrate } from '../../../services/event-store/migrations.ts';
import {
  type EmbeddedClickHouse,
  quietClient,
  startEmbeddedClickHouse,
  temporaryDirectory,
} from '../../support/embedded-clickhouse.ts';
import { eventRows } from '../../support/event-rows.ts';
import { createLateView } from '../../support/late-view.ts';

/** What only the embedded engine does: who may do what, starting, stopping, dying. */
const started: EmbeddedClickHouse[] = [];

async function start(...options: Parameters<typeof startEmbeddedClickHouse>) {
  const engine = await startEmbeddedClickHouse(...options);
  started.push(engine);
  return engine;
}

afterEach(async () => {
  const engines = started.splice(0);
  await Promise.all(engines.map((engine) => engine.kill()));
  for (const { directory } of engines) rmSync(directory, { recursive: true, force: true });
}, 60_000);

const logger = { info: () => undefined };

async function firstRow(client: ClickHouseClient, query: string): Promise<Record<string, number>> {
  const result = await client.query({ query, format: 'JSONEachRow' });
  return (await result.json<Record<string, number>>())[0] ?? {};
}

function ask(url: string, query: string, init: RequestInit = {}): Promise<Response> {
  return fetch(url, { method: 'POST', body: query, ...init });
}

describe('who may ask', () => {
  test('a token is wanted in any of the usual places, once it is set', async () => {
    const { url } = await start({
      environment: {
        LONGREIN_CLICKHOUSE_TOKEN: 'right',
        LONGREIN_CLICKHOUSE_ANALYST_TOKEN: 'read',
      },
    });
    const basic = (pair: string) => ({
      authorization: `Basic ${Buffer.from(pair).toString('base64')}`,
    });
    const attempts: readonly [string, Record<string, string>, number][] = [
      ['', {}, 403],
      ['', basic('default:wrong'), 403],
      ['', { 'x-clickhouse-key': 'right' }, 200],
      ['', basic('default:right'), 200],
      ['', { authorization: 'Bearer right' }, 200],
      ['?password=right', {}, 200],
      ['', basic('analyst:right'), 403],
      ['', basic('analyst:read'), 200],
      ['', basic('default:read'), 403],
    ];
    for (const [search, headers, status] of attempts) {
      const response = await ask(`${url}/${search}`, 'SELECT 1', { headers });
      expect([search, headers, response.status]).toEqual([search, headers, status]);
    }
    const client = quietClient(url, { password: 'right' });
    expect(await firstRow(client, 'SELECT 1 a')).toEqual({ a: 1 });
    expect((await fetch(`${url}/ping`)).status).toBe(200);
    await client.close();
  }, 60_000);

  test('an analyst and a GET read tables and nothing else', async () => {
    const { url, directory } = await start();
    const owner = quietClient(url);
    await migrate(owner, logger);
    const file = join(directory, 'secret.csv');
    writeFileSync(file, 'a,b\n1,2\n');
    const refused = [
      `SELECT * FROM file('${file}')`,
      `SELECT file('${file}')`,
      `SELECT * FROM \`file\`('${file}')`,
      `SELECT * FROM "file" ('${file}')`,
      `SELECT * FROM fi/**/le('${file}')`,
      `SELECT * FROM file /* here */ ('${file}')`,
      `SELECT * FROM FILE\u00a0('${file}')`,
      `SELECT * FROM \`\\x66ile\`('${file}')`,
      `SELECT * FROM default.\`${file}\``,
      `SELECT * FROM \`default\` . "${file}"`,
      `SELECT * FROM '${file}'`,
      `SELECT * FROM "${file}"`,
      `USE default`,
      `SELECT * FROM url('http://127.0.0.1:1/', 'CSV', 'a Int')`,
      `SELECT * FROM s3('http://127.0.0.1:1/b/k', 'CSV', 'a Int')`,
      `SELECT * FROM remote('127.0.0.1', 'system', 'one')`,
      `SELECT * FROM executable('x', 'TSV', 'a Int')`,
      `SELECT * FROM merge('default', '.*')`,
      `SELECT 1 a FORMAT Template SETTINGS format_template_row = '${file}'`,
      `SELECT 1 INTO OUTFILE '${join(directory, 'out')}'`,
      'CREATE TABLE longrein.mine (a UInt8) ENGINE = Memory',
      `INSERT INTO longrein.migrations (version) VALUES (99)`,
      'DROP TABLE longrein.events',
      'SELECT 1; DROP TABLE longrein.events',
    ];
    const analyst = { headers: { 'x-clickhouse-user': 'analyst' } };
    for (const query of refused) {
      const asked = await ask(url, query, analyst);
      expect([query, asked.ok, await asked.text()]).toEqual([query, false, expect.any(String)]);
      const got = await fetch(`${url}/?query=${encodeURIComponent(query)}`);
      expect([query, got.ok]).toEqual([query, false]);
    }
    expect(existsSync(join(directory, 'out'))).toBe(false);
    const byName = `/?param_d=default&param_t=${encodeURIComponent(file)}`;
    expect(
      (await ask(url + byName, 'SELECT * FROM {d:Identifier}.{t:Identifier}', analyst)).ok,
    ).toBe(false);
    const allowed = [
      'SELECT count() FROM longrein.events',
      "SELECT count() FROM sessions WHERE tenant_id = 'default'",
      "SELECT count() FROM system.tables WHERE database = 'longrein'",
      'SELECT sum(number) FROM numbers(10) SETTINGS max_threads = 1',
      'SELECT url FROM (SELECT 1 AS url, 2 AS file)',
    ];
    for (const query of allowed) {
      const asked = await ask(url, query, analyst);
      expect([query, asked.status, await asked.text()]).toEqual([query, 200, expect.any(String)]);
    }
    expect(await (await ask(url, `SELECT a FROM file('${file}')`)).text()).toBe('1\n');
    await owner.close();
  }, 60_000);

  test('once contents have a view with masks, an analyst sees them only through it', async () => {
    const { url } = await start();
    const owner = quietClient(url);
    await migrate(owner, logger);
    const [row] = eventRows(1);
    if (row === undefined) throw new Error('no row to store');
    const content = {
      reply: { mediaType: 'text/plain', bytes: 9, digest: 'd', body: 'to a@b.example' },
    };
    const whole = { ...row, content: JSON.stringify(content), record: '{"body":"to a@b.example"}' };
    await createEventTable(owner).insertBatch([whole], 'one');
    const analyst = { headers: { 'x-clickhouse-user': 'analyst' } };
    const open = 'SELECT content, record FROM longrein.events';
    expect(await (await ask(url, open, analyst)).text()).toContain('a@b.example');
    for (const query of maskStatements(usualMasks, undefined, await rightsAreBuiltIn(owner)))
      await owner.command({ query });
    const shut = [
      open,
      'SELECT * FROM longrein.events',
      'SELECT e.* FROM longrein.events AS e',
      "SELECT COLUMNS('cont') FROM events",
      'SELECT * APPLY(toString) FROM longrein.events',
      'SELECT * EXCEPT (content) FROM longrein.events',
      'SELECT (SELECT any(record) FROM longrein.events)',
      'EXPLAIN QUERY TREE SELECT (SELECT any(content) FROM longrein.events)',
      'WITH all AS (SELECT * FROM longrein.events) SELECT `content` FROM all',
      "SELECT count() FROM longrein.events WHERE startsWith(content, '{')",
      "SELECT count() FROM longrein.events PREWHERE record LIKE '%b%'",
      'SELECT part FROM longrein.events ARRAY JOIN [content] AS part',
      'SELECT any(type) FROM longrein.events GROUP BY content',
      'SELECT type FROM longrein.events ORDER BY record',
      'SELECT e.type FROM longrein.events AS e JOIN longrein.events AS f ON e.content = f.content',
      'SELECT {c:Identifier} FROM longrein.{t:Identifier}',
    ];
    for (const query of shut) {
      for (const method of ['POST', 'GET']) {
        const named = `/?param_c=content&param_t=events`;
        const asked =
          method === 'POST'
            ? await ask(url + named, query, analyst)
            : await fetch(`${url}${named}&query=${encodeURIComponent(query)}`, analyst);
        const text = await asked.text();
        expect([query, asked.status, text]).toEqual([
          query,
          403,
          expect.stringMatching(/privileges/),
        ]);
        expect(text).not.toContain('a@b.example');
      }
    }
    // A role is not taken back, neither by a statement nor beside it.
    await ask(url, 'SET ROLE longrein_owner', analyst);
    expect((await ask(`${url}/?role=longrein_owner`, open, analyst)).ok).toBe(false);
    const allowed = [
      'SELECT count(), any(type) FROM longrein.events',
      'SELECT * EXCEPT (content, record) FROM longrein.events FORMAT Null',
      'SELECT count() FROM longrein.sessions',
      'SELECT text FROM longrein.contents_masked',
    ];
    const answers: string[] = [];
    for (const query of allowed) answers.push(await (await ask(url, query, analyst)).text());
    expect(answers).toEqual([`1\t${row.type}\n`, '', '0\n', '"to [masked:email]"\n']);
    expect(await (await ask(url, open)).text()).toContain('a@b.example');
    expect(await (await fetch(`${url}/?query=${encodeURIComponent(open)}`)).text()).toContain(
      'a@b',
    );
    await owner.close();
  }, 60_000);

  test('web pages are turned away', async () => {
    const { url } = await start();
    expect(
      (await ask(url, 'SELECT 1', { headers: { origin: 'https://example.com' } })).status,
    ).toBe(403);
    const elsewhere = request(url, { method: 'POST', headers: { host: 'example.com' } });
    elsewhere.end('SELECT 1');
    const [response] = await once(elsewhere, 'response');
    expect(response.statusCode).toBe(403);
    response.resume();
  }, 60_000);
});

describe('limits', () => {
  test('a body that is too large is refused with an answer', async () => {
    const { url } = await start();
    const response = await ask(url, 'x'.repeat(65 * 1024 * 1024));
    expect([response.status, await response.text()]).toEqual([413, expect.stringContaining('307')]);
    expect(await (await ask(url, 'SELECT 1')).text()).toBe('1\n');
  }, 60_000);

  test('a query that wants too much memory fails alone', async () => {
    const { url } = await start({ environment: { LONGREIN_CLICKHOUSE_MEMORY_BYTES: '600000000' } });
    const greedy = `SELECT length(groupArray(repeat('x', 100 + number % 9))) FROM numbers(20000000)`;
    const response = await ask(url, greedy);
    expect(response.headers.get('x-clickhouse-exception-code')).toBe('241');
    expect(await (await ask(url, 'SELECT 1')).text()).toBe('1\n');
  }, 60_000);

  test('many streams leave no warning behind', async () => {
    const engine = await start();
    const query = `SELECT number, repeat('x', 200) FROM numbers(30000) FORMAT JSONEachRow`;
    const lengths = await Promise.all(
      Array.from({ length: 20 }, async () => (await (await ask(engine.url, query)).text()).length),
    );
    expect(new Set(lengths).size).toBe(1);
    expect(engine.errors()).toBe('');
  }, 60_000);
});

describe('starting and stopping', () => {
  test('a second process on the same data says who has it', async () => {
    const first = await start();
    await expect(startEmbeddedClickHouse({ directory: first.directory })).rejects.toThrow(
      new RegExp(`CLICKHOUSE_DIRECTORY_IN_USE: .*${first.pid}`),
    );
    expect(await (await ask(first.url, 'SELECT 1')).text()).toBe('1\n');
  }, 60_000);

  test('a wrong configuration is named', async () => {
    const environment = { LONGREIN_CLICKHOUSE_PORT: 'http' };
    await expect(startEmbeddedClickHouse({ environment })).rejects.toThrow(
      /CLICKHOUSE_CONFIG_INVALID: LONGREIN_CLICKHOUSE_PORT is "http"/,
    );
  }, 60_000);

  test('a graceful stop lets running statements end, and the data is kept', async () => {
    const first = await start();
    await ask(first.url, 'CREATE DATABASE kept');
    await ask(first.url, 'CREATE TABLE kept.t (a UInt64) ENGINE = MergeTree ORDER BY a');
    const slow = 'INSERT INTO kept.t SELECT number + sleepEachRow(0.1) FROM numbers(10)';
    const running = ask(first.url, slow, { headers: { connection: 'close' } });
    await expect.poll(() => processes(first.url), { timeout: 20_000 }).toContain('sleepEachRow');
    const code = first.stop();
    expect((await running).status).toBe(200);
    expect(await code).toBe(0);
    const second = await start({ directory: first.directory });
    expect(await (await ask(second.url, 'SELECT count() FROM kept.t')).text()).toBe('10\n');
  }, 60_000);

  test('started without threads it starts itself again, and ends with its starter', async () => {
    const first = await start({ ownThreads: true });
    expect(first.pid).not.toBe(first.child.pid);
    first.child.kill('SIGKILL');
    await once(first.child, 'exit');
    await expect.poll(() => opens(first.directory), { timeout: 20_000 }).toBe(true);
  }, 60_000);
});

async function processes(url: string): Promise<string> {
  const query = "SELECT query FROM system.processes WHERE query NOT ILIKE '%processes%'";
  return (await ask(url, query)).text();
}

async function opens(directory: string): Promise<boolean> {
  try {
    await start({ directory });
    return true;
  } catch {
    return false;
  }
}

describe('dying', () => {
  test('killed during inserts it keeps every acknowledged row, and repeats once', async () => {
    const directory = temporaryDirectory();
    const size = 500;
    let next = 0;
    for (const killAfterBatches of [2, 3, 5]) {
      const engine = await start({ directory });
      const client = quietClient(engine.url);
      await migrate(client, logger);
      const insert = (from: number) =>
        createEventTable(client).insertBatch(eventRows(size, { offset: from }), `${from}`);
      // The batch whose answer the kill took away, if any, under its old token.
      await insert(next);
      next += size;
      for (let batch = 0; batch < killAfterBatches; batch += 1, next += size) await insert(next);
      const unanswered = insert(next).then(
        () => true,
        () => false,
      );
      await Promise.all([
        engine.kill(),
        unanswered.then((written) => (next += written ? size : 0)),
      ]);
      await client.close();
    }
    const engine = await start({ directory });
    const client = quietClient(engine.url);
    await createEventTable(client).insertBatch(eventRows(size, { offset: next }), `${next}`);
    next += size;
    const table =
      'SELECT count() n, uniqExact(k_offset) unique, max(k_offset) + 1 high FROM longrein.events';
    expect(await firstRow(client, table)).toEqual({ n: next, unique: next, high: next });
    const sums = `SELECT
      (SELECT sum(cost_nano_usd) FROM longrein.events)
        - (SELECT sum(cost_nano_usd) FROM longrein.costs_hourly) cost,
      (SELECT count() FROM longrein.events)
        - (SELECT sum(events) FROM longrein.sink_progress) events`;
    expect(await firstRow(client, sums)).toEqual({ cost: 0, events: 0 });
    await client.close();
  }, 120_000);

  test('killed between the table and its views, a repetition fills each view once', async () => {
    const directory = temporaryDirectory();
    const first = await start({ directory });
    const before = quietClient(first.url);
    await migrate(before, logger);
    await createLateView(before, 0.004);
    const rows = eventRows(500);
    const insert = (client: ClickHouseClient) =>
      createEventTable(client).insertBatch(rows, 'range');
    const unanswered = insert(before).catch((thrown: Error) => thrown);
    const halfway = `SELECT (SELECT count() FROM longrein.events) events,
      (SELECT count() FROM longrein.late) late`;
    await expect
      .poll(() => firstRow(before, halfway), { timeout: 20_000, interval: 10 })
      .toEqual({ events: 500, late: 0 });
    await first.kill();
    expect(await unanswered).toMatchObject({ code: 'EVENT_STORE_UNREACHABLE' });
    await before.close();

    const client = quietClient((await start({ directory })).url);
    expect(await firstRow(client, halfway)).toEqual({ events: 500, late: 0 });
    const calls = rows.filter(({ type }) => type === 'model.completed').length;
    const sums = `SELECT (SELECT sum(calls) FROM longrein.costs_hourly) calls,
      (SELECT sum(events) FROM longrein.sessions_thin) sessions,
      (SELECT sum(events) FROM longrein.sink_progress) progress`;
    for (const _again of [1, 2]) {
      await insert(client);
      expect(await firstRow(client, halfway)).toEqual({ events: 500, late: 500 });
      expect(await firstRow(client, sums)).toEqual({ calls, sessions: 500, progress: 500 });
    }
    await client.close();
  }, 120_000);
});
