import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { Readable } from 'node:stream';
import { type ClickHouseClient, ClickHouseError } from '@clickhouse/client';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import {
  type EmbeddedClickHouse,
  quietClient,
  startEmbeddedClickHouse,
} from '../../support/embedded-clickhouse.ts';

/**
 * What Longrein needs of a ClickHouse, over HTTP with the official client unchanged.
 * LONGREIN_CLICKHOUSE_URL names a server to hold it against; without it the embedded engine is
 * started.
 */
const database = `contract_${randomUUID().replaceAll('-', '')}`;
vi.setConfig({ testTimeout: 60_000 });

let embedded: EmbeddedClickHouse | undefined;
let url: string;
let client: ClickHouseClient;
let gzipClient: ClickHouseClient;

beforeAll(async () => {
  const given = process.env.LONGREIN_CLICKHOUSE_URL;
  embedded = given === undefined ? await startEmbeddedClickHouse() : undefined;
  url = given ?? embedded?.url ?? '';
  client = quietClient(url);
  gzipClient = quietClient(url, { compression: { request: true, response: true } });
  await client.command({ query: `CREATE DATABASE ${database}` });
  await client.command({
    query: `CREATE TABLE ${database}.things (
      id UInt64, name String, at DateTime64(6, 'UTC'), labels Map(String, String),
      list Array(UInt8), maybe Nullable(Int32), price Decimal(18, 6)
    ) ENGINE = MergeTree ORDER BY id`,
  });
}, 60_000);

afterAll(async () => {
  await client.command({ query: `DROP DATABASE ${database} SYNC` });
  await Promise.all([client.close(), gzipClient.close()]);
  if (embedded === undefined) return;
  await embedded.stop();
  rmSync(embedded.directory, { recursive: true });
}, 60_000);

async function rows<T = Record<string, unknown>>(
  query: string,
  options: Omit<Parameters<ClickHouseClient['query']>[0], 'query' | 'format'> = {},
): Promise<readonly T[]> {
  const result = await client.query({ ...options, query, format: 'JSONEachRow' });
  return result.json<T>();
}

async function failure(work: () => Promise<unknown>): Promise<ClickHouseError> {
  try {
    await work();
  } catch (thrown) {
    if (thrown instanceof ClickHouseError) return thrown;
    throw thrown;
  }
  throw new Error('It did not fail');
}

function post(body: string, parameters: Record<string, string> = {}): Promise<Response> {
  const target = new URL(url);
  for (const [name, value] of Object.entries(parameters)) target.searchParams.set(name, value);
  return fetch(target, { method: 'POST', body });
}

describe('being there', () => {
  test('it answers a ping', async () => {
    expect(await client.ping()).toMatchObject({ success: true });
  });

  test('it answers a ping by statement', async () => {
    expect(await client.ping({ select: true })).toMatchObject({ success: true });
  });

  test('it names the query as the caller named it', async () => {
    const queryId = randomUUID();
    const result = await client.query({ query: 'SELECT 1', query_id: queryId });
    await result.text();
    expect(result.query_id).toBe(queryId);
  });
});

describe('inserts', () => {
  const things = `${database}.things`;
  const count = async (where: string) =>
    Number((await rows<{ n: string }>(`SELECT count() n FROM ${things} WHERE ${where}`))[0]?.n);

  test('it takes an array of rows and reports how many it wrote', async () => {
    const values = [
      { id: 1, name: 'a\'b\\c\nd?\t"e"', labels: { x: 'y' }, list: [1, 2], maybe: null },
    ];
    const { summary } = await client.insert({ table: things, values, format: 'JSONEachRow' });
    expect(summary?.written_rows).toBe('1');
    const [row] = await rows(`SELECT name, labels, list, maybe FROM ${things} WHERE id = 1`);
    expect(row).toEqual({ ...values[0], id: undefined });
  });

  test('it takes a stream of rows', async () => {
    const values = Readable.from(Array.from({ length: 3000 }, (_, id) => ({ id: 1000 + id })));
    await client.insert({ table: things, values, format: 'JSONEachRow' });
    expect(await count('id BETWEEN 1000 AND 3999')).toBe(3000);
  });

  test('it takes a compressed body', async () => {
    const values = [{ id: 10, name: 'gzip' }];
    await gzipClient.insert({
      table: things,
      values,
      format: 'JSONEachRow',
      columns: ['id', 'name'],
    });
    expect(await count(`name = 'gzip'`)).toBe(1);
  });

  test('it takes rows without some columns', async () => {
    const values = [{ id: 11, name: 'except' }];
    await client.insert({
      table: things,
      values,
      format: 'JSONEachRow',
      columns: { except: ['list'] },
    });
    expect(await count(`name = 'except'`)).toBe(1);
  });

  test('it takes compact rows and raw CSV', async () => {
    await client.insert({
      table: things,
      values: [[12, 'compact']],
      columns: ['id', 'name'],
      format: 'JSONCompactEachRow',
    });
    const csv = Readable.from(['13,"c,s""v"\n'], { objectMode: false });
    await client.insert({ table: things, values: csv, columns: ['id', 'name'], format: 'CSV' });
    expect(await rows(`SELECT name FROM ${things} WHERE id IN (12, 13) ORDER BY id`)).toEqual([
      { name: 'compact' },
      { name: 'c,s"v' },
    ]);
  });

  test('it reads times as programs write them', async () => {
    const values = [{ id: 14, at: '2026-01-01T00:00:00.123456Z' }];
    const clickhouse_settings = { date_time_input_format: 'best_effort' } as const;
    await client.insert({ table: things, values, format: 'JSONEachRow', clickhouse_settings });
    expect(await rows(`SELECT at FROM ${things} WHERE id = 14`)).toEqual([
      { at: '2026-01-01 00:00:00.123456' },
    ]);
  });

  test('it takes an insert of nothing', async () => {
    await client.insert({ table: things, values: [], format: 'JSONEachRow' });
  });

  test('it takes rows in the statement', async () => {
    await client.command({
      query: `INSERT INTO ${things} (id, name) VALUES (15, 'a;b'), (16, 'c')`,
    });
    expect(await count(`id IN (15, 16)`)).toBe(2);
  });

  test('it takes rows from a query', async () => {
    const query = `INSERT INTO ${things} (id, name) SELECT 9000 + number, 'q' FROM numbers(3)`;
    await client.command({ query });
    expect(await count(`name = 'q'`)).toBe(3);
  });

  test('it uses the database of the client', async () => {
    const here = quietClient(url, { database });
    await here.insert({
      table: 'things',
      values: [{ id: 17, name: 'here' }],
      format: 'JSONEachRow',
    });
    await here.close();
    expect(await count(`name = 'here'`)).toBe(1);
  });

  test('a row that cannot be read fails the insert, names the row and writes nothing', async () => {
    const values = [{ id: 18, name: 'good' }, { id: 'none' }];
    const error = await failure(() =>
      client.insert({ table: things, values, format: 'JSONEachRow' }),
    );
    expect(error.code).toBe('27');
    expect(error.message).toContain('at row 2');
    expect(await count(`name = 'good'`)).toBe(0);
  });

  test('a deduplication token makes repeated inserts one', async () => {
    const table = `${database}.tokens`;
    await client.command({
      query: `CREATE TABLE ${table} (a UInt64) ENGINE = MergeTree ORDER BY a
              SETTINGS non_replicated_deduplication_window = 1000`,
    });
    const insert = (token: string) =>
      client.insert({
        table,
        values: [{ a: 1 }, { a: 2 }],
        format: 'JSONEachRow',
        clickhouse_settings: { insert_deduplication_token: token, async_insert: 0 },
      });
    for (const token of ['0-1', '0-1', '0-1', '2-3']) await insert(token);
    expect(await rows(`SELECT count() n FROM ${table}`)).toEqual([{ n: 4 }]);
  });
});

describe('answers', () => {
  test('it answers whole documents', async () => {
    const result = await client.query({ query: 'SELECT 1 a, [2, 3] b', format: 'JSON' });
    expect(await result.json()).toMatchObject({ data: [{ a: 1, b: [2, 3] }], rows: 1 });
  });

  test('it keeps text of every kind as it is', async () => {
    const text = 'ä 漢 😀 \u0001 \\ \' " ` \u2028 \r\n\t';
    expect(await rows('SELECT {text: String} text', { query_params: { text } })).toEqual([
      { text },
    ]);
  });

  test('it binds parameters of every type', async () => {
    const query = `SELECT {a: String} a, toString({b: UInt64}) b, {c: Array(String)} c, {d: Nullable(String)} d,
      {m: Map(String, UInt8)} m, {t: DateTime64(3, 'UTC')} t, {i: Identifier} i FROM (SELECT 7 AS zz)`;
    const query_params = {
      a: "it's \\ \n tab\t",
      b: '18446744073709551615',
      c: ["x'y", 'z'],
      d: null,
      m: { k: 1 },
      t: new Date(0),
      i: 'zz',
    };
    expect(await rows(query, { query_params })).toEqual([
      { ...query_params, t: '1970-01-01 00:00:00.000', i: 7 },
    ]);
  });

  test('it takes parameters as a form', async () => {
    const options = { query_params: { a: "it's" }, use_multipart_params: true };
    expect(await rows('SELECT {a: String} a', options)).toEqual([{ a: "it's" }]);
  });

  test('a setting holds for its query only', async () => {
    const query = `SELECT getSetting('max_block_size') size`;
    const clickhouse_settings = { max_block_size: '4321' };
    const [set, others] = await Promise.all([
      rows(query, { clickhouse_settings }),
      Promise.all(Array.from({ length: 10 }, () => rows(query))),
    ]);
    expect(String(set[0]?.size)).toBe('4321');
    expect(
      [...others.flat(), ...(await rows(query))].map(({ size }) => String(size)),
    ).not.toContain('4321');
  });

  test('temporary tables and USE end with their query', async () => {
    await client.command({ query: 'CREATE TEMPORARY TABLE passing (a UInt8)' });
    await client.command({ query: `USE ${database}` });
    expect((await failure(() => rows('SELECT * FROM passing'))).code).toBe('60');
    expect((await failure(() => rows('SELECT * FROM things'))).code).toBe('60');
  });

  test('rows come as a stream', async () => {
    const query = `SELECT number, repeat('x', 100) text FROM numbers(200000)`;
    const result = await client.query({ query, format: 'JSONEachRow' });
    let [count, parts] = [0, 0];
    for await (const part of result.stream()) {
      count += part.length;
      parts += 1;
    }
    expect(count).toBe(200_000);
    expect(parts).toBeGreaterThan(1);
  });

  test('rows come compressed', async () => {
    const query = 'SELECT number FROM numbers(100000)';
    const result = await gzipClient.query({ query, format: 'JSONEachRow' });
    expect(await result.json()).toHaveLength(100_000);
  });

  test('a header stands before the rows once', async () => {
    const query = 'SELECT number FROM numbers(200000)';
    const result = await client.query({ query, format: 'CSVWithNames' });
    const lines = (await result.text()).trim().split('\n');
    expect(lines).toHaveLength(200_001);
    expect(lines.filter((line) => line === '"number"')).toHaveLength(1);
  });

  test('a format in the statement is used, one that is a column is not', async () => {
    expect(await (await post('SELECT 1 a FORMAT JSONEachRow')).text()).toBe('{"a":1}\n');
    expect(await (await post('SELECT 2 a FORMAT CSV SETTINGS max_threads = 1;')).text()).toBe(
      '2\n',
    );
    const query = `SELECT format FROM (SELECT 'x' AS format)`;
    expect(await (await post(query, { default_format: 'JSONEachRow' })).text()).toBe(
      '{"format":"x"}\n',
    );
  });

  test('it writes Parquet', async () => {
    const { stream } = await client.exec({
      query: 'SELECT number FROM numbers(10) FORMAT Parquet',
    });
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk as Buffer);
    expect(Buffer.concat(chunks).subarray(0, 4).toString()).toBe('PAR1');
  });

  test('an answer left alone does not hold others up', async () => {
    for (let round = 0; round < 20; round += 1) {
      const query = 'SELECT number FROM numbers(5000000)';
      const result = await client.query({ query, format: 'JSONEachRow' });
      result.close();
    }
    expect(await rows('SELECT 1 a')).toEqual([{ a: 1 }]);
  });

  test('twenty queries run beside each other', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, a) => rows(`SELECT ${a} a, sleep(0.05)`)),
    );
    expect(answers.map(([row]) => row?.a)).toEqual(Array.from({ length: 20 }, (_, a) => a));
  });
});

describe('errors', () => {
  const expected: readonly [string, string, string][] = [
    ['an unknown table', 'SELECT * FROM nowhere', '60'],
    ['an unknown column', 'SELECT nothing', '47'],
    ['an unknown function', 'SELECT nofunction(1)', '46'],
    ['a syntax error', 'SELEC 1', '62'],
    ['a division by zero', 'SELECT intDiv(1, 0)', '153'],
  ];
  test.each(expected)('%s has its code', async (_, query, code) => {
    expect((await failure(() => client.command({ query }))).code).toBe(code);
  });

  test('an unknown setting has its code', async () => {
    const response = await post('SELECT 1', { no_such_setting: '1' });
    expect(response.headers.get('x-clickhouse-exception-code')).toBe('115');
  });

  test('an unknown database has its code', async () => {
    const nowhere = quietClient(url, { database: 'nowhere' });
    expect((await failure(() => nowhere.command({ query: 'SELECT 1' }))).code).toBe('81');
    await nowhere.close();
  });

  test('the status tells a bad request from a fault', async () => {
    const statuses = await Promise.all(
      ['SELECT 1', 'SELEC 1', 'SELECT * FROM nowhere'].map(
        async (query) => (await post(query)).status,
      ),
    );
    expect(statuses).toEqual([200, 400, 404]);
  });

  test('several statements at once are refused', async () => {
    expect((await failure(() => client.command({ query: 'SELECT 1; SELECT 2' }))).code).toBe('62');
  });

  test('files on the server are not written by a query', async () => {
    expect((await post(`SELECT 1 INTO OUTFILE 'out.txt'`)).ok).toBe(false);
  });

  const broken = `SELECT throwIf(number = 400000) x, repeat('y', 50) FROM numbers(500000)
    SETTINGS max_block_size = 65536, max_threads = 1`;
  test.each([
    ['plain', () => client],
    ['compressed', () => gzipClient],
  ] as const)('an error after many rows reaches the reader (%s)', async (_, of) => {
    const result = await of().query({ query: broken, format: 'JSONEachRow' });
    let count = 0;
    const error = await failure(async () => {
      for await (const part of result.stream()) count += part.length;
    });
    expect(error.code).toBe('395');
    expect(count).toBeGreaterThan(0);
  });
});

describe('reading only', () => {
  const get = (query: string) => fetch(`${url}?query=${encodeURIComponent(query)}`);

  test('GET reads', async () => {
    expect(await (await get('SELECT 1')).text()).toBe('1\n');
  });

  test('GET does not write', async () => {
    const response = await get(`CREATE TABLE ${database}.written (a UInt8) ENGINE = Memory`);
    expect(response.ok).toBe(false);
    expect(response.headers.get('x-clickhouse-exception-code')).toBe('164');
  });
});
