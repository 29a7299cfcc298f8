import { describe, expect, test } from 'vitest';
import { readStatement, rowInsert } from '../../../../../deploy/local/clickhouse/statement.ts';

describe('reading a statement', () => {
  test.each([
    ['SELECT 1', 'select', undefined],
    ['-- why\n/* not; */ WITH 1 AS a SELECT a FORMAT JSON', 'select', 'JSON'],
    [`SELECT ';' AS "a;b" FORMAT CSV;`, 'select', 'CSV'],
    ['SELECT format FROM t', 'select', undefined],
    ['SELECT 1 FORMAT JSON SETTINGS max_threads = 1', 'select', 'JSON'],
    ['SHOW TABLES', 'other', undefined],
    [`INSERT INTO t VALUES ('a;b'); not looked at`, 'insert', undefined],
    ['INSERT INTO t FORMAT JSONEachRow {"a": "; SELECT"}', 'insert', undefined],
    ['', 'other', undefined],
  ])('%s', (sql, kind, format) => {
    expect(readStatement(sql)).toEqual({ kind, format });
  });

  test.each(['SELECT 1; SELECT 2', 'SELECT 1;/* */;', 'DROP TABLE a; -- b\nDROP TABLE c'])(
    'more than one statement is refused: %s',
    (sql) => {
      expect(() => readStatement(sql)).toThrow(/Multi-statements/);
    },
  );

  test.each([
    `SELECT 1 INTO OUTFILE 'a'`,
    `SELECT 1 INTO/**/outfile 'a'`,
    `INSERT INTO t FROM INFILE 'a' FORMAT CSV`,
  ])('files are refused: %s', (sql) => {
    expect(() => readStatement(sql)).toThrow(/OUTFILE/);
  });

  test('text of a megabyte in quotes is read', () => {
    expect(readStatement(`SELECT '${"it''s \\' ".repeat(150_000)}'`).kind).toBe('select');
  });
});

describe('inserts of rows', () => {
  test.each([
    ['INSERT INTO t FORMAT JSONEachRow', { table: 't', format: 'JSONEachRow' }],
    [
      'insert into table `d`.`t` (a, `b`)\nFORMAT CSV',
      { table: 'd.t', columns: ['a', 'b'], format: 'CSV' },
    ],
  ])('%s', (sql, insert) => {
    expect(rowInsert(sql)).toEqual({ columns: undefined, ...insert });
  });

  test.each([
    'INSERT INTO t (* EXCEPT(a)) FORMAT JSONEachRow',
    "INSERT INTO FUNCTION file('a') FORMAT CSV",
    'INSERT INTO t SETTINGS a = 1 FORMAT CSV',
    'INSERT INTO t FORMAT Parquet',
    'INSERT INTO t SELECT 1',
  ])('anything more is left to the engine: %s', (sql) => {
    expect(rowInsert(sql)).toBeUndefined();
  });
});
