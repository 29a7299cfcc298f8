import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { ClickHouseUnderTest, failure } from '../../support/clickhouse-under-test.ts';
import { quietClient } from '../../support/embedded-clickhouse.ts';

/** What Longrein needs of a ClickHouse when it reads, with the official client unchanged. */
vi.setConfig({ testTimeout: 60_000 });

let server: ClickHouseUnderTest;

beforeAll(async () => {
  server = await ClickHouseUnderTest.open();
}, 60_000);

afterAll(() => server.close(), 60_000);

describe('answers', () => {
  test('it answers whole documents', async () => {
    const result = await server.client.query({ query: 'SELECT 1 a, [2, 3] b', format: 'JSON' });
    expect(await result.json()).toMatchObject({ data: [{ a: 1, b: [2, 3] }], rows: 1 });
  });

  test('it keeps text of every kind as it is', async () => {
    const text = 'ä 漢 😀 \u0001 \\ \' " ` \u2028 \r\n\t';
    expect(await server.rows('SELECT {text: String} text', { query_params: { text } })).toEqual([
      { text },
    ]);
  });

  test('it binds parameters of every type', async () => {
    const query = `SELECT {a: String} a, toString({b: UInt64}) b, {c: Array(String)} c,
      {d: Nullable(String)} d, {m: Map(String, UInt8)} m, {t: DateTime64(3, 'UTC')} t,
      {i: Identifier} i FROM (SELECT 7 AS zz)`;
    const query_params = {
      a: "it's \\ \n tab\t",
      b: '18446744073709551615',
      c: ["x'y", 'z'],
      d: null,
      m: { k: 1 },
      t: new Date(0),
      i: 'zz',
    };
    expect(await server.rows(query, { query_params })).toEqual([
      { ...query_params, t: '1970-01-01 00:00:00.000', i: 7 },
    ]);
  });

  test('it takes parameters as a form', async () => {
    const options = { query_params: { a: "it's" }, use_multipart_params: true };
    expect(await server.rows('SELECT {a: String} a', options)).toEqual([{ a: "it's" }]);
  });

  test('a setting holds for its query only', async () => {
    const query = `SELECT getSetting('max_block_size') size`;
    const clickhouse_settings = { max_block_size: '4321' };
    const [set, others] = await Promise.all([
      server.rows(query, { clickhouse_settings }),
      Promise.all(Array.from({ length: 10 }, () => server.rows(query))),
    ]);
    expect(String(set[0]?.size)).toBe('4321');
    expect(
      [...others.flat(), ...(await server.rows(query))].map(({ size }) => String(size)),
    ).not.toContain('4321');
  });

  test('temporary tables and USE end with their query', async () => {
    const things = `CREATE TABLE ${server.database}.things ENGINE = Memory AS SELECT 1 AS a`;
    await server.client.command({ query: things });
    await server.client.command({ query: 'CREATE TEMPORARY TABLE passing (a UInt8)' });
    await server.client.command({ query: `USE ${server.database}` });
    expect((await failure(() => server.rows('SELECT * FROM passing'))).code).toBe('60');
    expect((await failure(() => server.rows('SELECT * FROM things'))).code).toBe('60');
  });

  test('rows come as a stream', async () => {
    const query = `SELECT number, repeat('x', 100) text FROM numbers(200000)`;
    const result = await server.client.query({ query, format: 'JSONEachRow' });
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
    const result = await server.gzipClient.query({ query, format: 'JSONEachRow' });
    expect(await result.json()).toHaveLength(100_000);
  });

  test('a header stands before the rows once', async () => {
    const query = 'SELECT number FROM numbers(200000)';
    const result = await server.client.query({ query, format: 'CSVWithNames' });
    const lines = (await result.text()).trim().split('\n');
    expect(lines).toHaveLength(200_001);
    expect(lines.filter((line) => line === '"number"')).toHaveLength(1);
  });

  test('a format in the statement is used, one that is a column is not', async () => {
    expect(await (await server.post('SELECT 1 a FORMAT JSONEachRow')).text()).toBe('{"a":1}\n');
    expect(
      await (await server.post('SELECT 2 a FORMAT CSV SETTINGS max_threads = 1;')).text(),
    ).toBe('2\n');
    const query = `SELECT format FROM (SELECT 'x' AS format)`;
    expect(await (await server.post(query, { default_format: 'JSONEachRow' })).text()).toBe(
      '{"format":"x"}\n',
    );
  });

  test('it writes Parquet', async () => {
    const { stream } = await server.client.exec({
      query: 'SELECT number FROM numbers(10) FORMAT Parquet',
    });
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk as Buffer);
    expect(Buffer.concat(chunks).subarray(0, 4).toString()).toBe('PAR1');
  });

  test('an answer left alone does not hold others up', async () => {
    for (let round = 0; round < 20; round += 1) {
      const query = 'SELECT number FROM numbers(5000000)';
      const result = await server.client.query({ query, format: 'JSONEachRow' });
      result.close();
    }
    expect(await server.rows('SELECT 1 a')).toEqual([{ a: 1 }]);
  });

  test('twenty queries run beside each other', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, a) => server.rows(`SELECT ${a} a, sleep(0.05)`)),
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
    expect((await failure(() => server.client.command({ query }))).code).toBe(code);
  });

  test('an unknown setting has its code', async () => {
    const response = await server.post('SELECT 1', { no_such_setting: '1' });
    expect(response.headers.get('x-clickhouse-exception-code')).toBe('115');
  });

  test('an unknown database has its code', async () => {
    const nowhere = quietClient(server.url, { database: 'nowhere' });
    expect((await failure(() => nowhere.command({ query: 'SELECT 1' }))).code).toBe('81');
    await nowhere.close();
  });

  test('the status tells a bad request from a fault', async () => {
    const statuses = await Promise.all(
      ['SELECT 1', 'SELEC 1', 'SELECT * FROM nowhere'].map(
        async (query) => (await server.post(query)).status,
      ),
    );
    expect(statuses).toEqual([200, 400, 404]);
  });

  test('several statements at once are refused', async () => {
    expect((await failure(() => server.client.command({ query: 'SELECT 1; SELECT 2' }))).code).toBe(
      '62',
    );
  });

  test('files on the server are not written by a query', async () => {
    expect((await server.post(`SELECT 1 INTO OUTFILE 'out.txt'`)).ok).toBe(false);
  });

  const broken = `SELECT throwIf(number = 400000) x, repeat('y', 50) FROM numbers(500000)
    SETTINGS max_block_size = 65536, max_threads = 1`;
  test.each([
    ['plain', () => server.client],
    ['compressed', () => server.gzipClient],
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
  const get = (query: string) => fetch(`${server.url}?query=${encodeURIComponent(query)}`);

  test('GET reads', async () => {
    expect(await (await get('SELECT 1')).text()).toBe('1\n');
  });

  test('GET does not write', async () => {
    const response = await get(`CREATE TABLE ${server.database}.written (a UInt8) ENGINE = Memory`);
    expect(response.ok).toBe(false);
    expect(response.headers.get('x-clickhouse-exception-code')).toBe('164');
  });
});
