import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { ClickHouseUnderTest, failure } from '../../support/clickhouse-under-test.ts';
import { quietClient } from '../../support/embedded-clickhouse.ts';

/** What Longrein needs of a ClickHouse when it writes, with the official client unchanged. */
vi.setConfig({ testTimeout: 60_000 });

let server: ClickHouseUnderTest;

beforeAll(async () => {
  server = await ClickHouseUnderTest.open();
  await server.client.command({
    query: `CREATE TABLE ${server.database}.things (
      id UInt64, name String, at DateTime64(6, 'UTC'), labels Map(String, String),
      list Array(UInt8), maybe Nullable(Int32), price Decimal(18, 6)
    ) ENGINE = MergeTree ORDER BY id`,
  });
}, 60_000);

afterAll(() => server.close(), 60_000);

describe('being there', () => {
  test('it answers a ping', async () => {
    expect(await server.client.ping()).toMatchObject({ success: true });
  });

  test('it answers a ping by statement', async () => {
    expect(await server.client.ping({ select: true })).toMatchObject({ success: true });
  });

  test('it names the query as the caller named it', async () => {
    const queryId = randomUUID();
    const result = await server.client.query({ query: 'SELECT 1', query_id: queryId });
    await result.text();
    expect(result.query_id).toBe(queryId);
  });
});

describe('inserts', () => {
  const things = () => `${server.database}.things`;
  const count = async (where: string) =>
    Number(
      (await server.rows<{ n: string }>(`SELECT count() n FROM ${things()} WHERE ${where}`))[0]?.n,
    );

  test('it takes an array of rows and reports how many it wrote', async () => {
    const values = [
      { id: 1, name: 'a\'b\\c\nd?\t"e"', labels: { x: 'y' }, list: [1, 2], maybe: null },
    ];
    const { summary } = await server.client.insert({
      table: things(),
      values,
      format: 'JSONEachRow',
    });
    expect(summary?.written_rows).toBe('1');
    const [row] = await server.rows(
      `SELECT name, labels, list, maybe FROM ${things()} WHERE id = 1`,
    );
    expect(row).toEqual({ ...values[0], id: undefined });
  });

  test('it takes a stream of rows', async () => {
    const values = Readable.from(Array.from({ length: 3000 }, (_, id) => ({ id: 1000 + id })));
    await server.client.insert({ table: things(), values, format: 'JSONEachRow' });
    expect(await count('id BETWEEN 1000 AND 3999')).toBe(3000);
  });

  test('it takes a compressed body', async () => {
    const values = [{ id: 10, name: 'gzip' }];
    await server.gzipClient.insert({
      table: things(),
      values,
      format: 'JSONEachRow',
      columns: ['id', 'name'],
    });
    expect(await count(`name = 'gzip'`)).toBe(1);
  });

  test('it takes rows without some columns', async () => {
    const values = [{ id: 11, name: 'except' }];
    await server.client.insert({
      table: things(),
      values,
      format: 'JSONEachRow',
      columns: { except: ['list'] },
    });
    expect(await count(`name = 'except'`)).toBe(1);
  });

  test('it takes compact rows and raw CSV', async () => {
    await server.client.insert({
      table: things(),
      values: [[12, 'compact']],
      columns: ['id', 'name'],
      format: 'JSONCompactEachRow',
    });
    const csv = Readable.from(['13,"c,s""v"\n'], { objectMode: false });
    await server.client.insert({
      table: things(),
      values: csv,
      columns: ['id', 'name'],
      format: 'CSV',
    });
    expect(
      await server.rows(`SELECT name FROM ${things()} WHERE id IN (12, 13) ORDER BY id`),
    ).toEqual([{ name: 'compact' }, { name: 'c,s"v' }]);
  });

  test('it reads times as programs write them', async () => {
    const values = [{ id: 14, at: '2026-01-01T00:00:00.123456Z' }];
    const clickhouse_settings = { date_time_input_format: 'best_effort' } as const;
    await server.client.insert({
      table: things(),
      values,
      format: 'JSONEachRow',
      clickhouse_settings,
    });
    expect(await server.rows(`SELECT at FROM ${things()} WHERE id = 14`)).toEqual([
      { at: '2026-01-01 00:00:00.123456' },
    ]);
  });

  test('it takes an insert of nothing', async () => {
    await server.client.insert({ table: things(), values: [], format: 'JSONEachRow' });
  });

  test('it takes rows in the statement', async () => {
    await server.client.command({
      query: `INSERT INTO ${things()} (id, name) VALUES (15, 'a;b'), (16, 'c')`,
    });
    expect(await count(`id IN (15, 16)`)).toBe(2);
  });

  test('it takes rows from a query', async () => {
    const query = `INSERT INTO ${things()} (id, name) SELECT 9000 + number, 'q' FROM numbers(3)`;
    await server.client.command({ query });
    expect(await count(`name = 'q'`)).toBe(3);
  });

  test('it uses the database of the client', async () => {
    const here = quietClient(server.url, { database: server.database });
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
      server.client.insert({ table: things(), values, format: 'JSONEachRow' }),
    );
    expect(error.code).toBe('27');
    expect(error.message).toContain('at row 2');
    expect(await count(`name = 'good'`)).toBe(0);
  });

  test('a deduplication token makes repeated inserts one', async () => {
    const table = `${server.database}.tokens`;
    await server.client.command({
      query: `CREATE TABLE ${table} (a UInt64) ENGINE = MergeTree ORDER BY a
              SETTINGS non_replicated_deduplication_window = 1000`,
    });
    const insert = (token: string) =>
      server.client.insert({
        table,
        values: [{ a: 1 }, { a: 2 }],
        format: 'JSONEachRow',
        clickhouse_settings: { insert_deduplication_token: token, async_insert: 0 },
      });
    for (const token of ['0-1', '0-1', '0-1', '2-3']) await insert(token);
    expect(await server.rows(`SELECT count() n FROM ${table}`)).toEqual([{ n: 4 }]);
  });
});
