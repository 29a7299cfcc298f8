import { describe, expect, test } from 'vitest';
import {
  refuseOutside,
  refuseOutsideValues,
} from '../../../../../deploy/local/clickhouse/guard.ts';

const functions = new Set(['file', 'url', 's3', 'merge', 'numbers', 'format', 'eval', 'newone']);

describe('what a restricted caller may not say', () => {
  test.each([
    `SELECT * FROM file('a')`,
    `SELECT * FROM FILE ('a')`,
    `SELECT * FROM file\u2003('a')`,
    "SELECT * FROM `file`('a')",
    `SELECT * FROM "url"('a')`,
    `SELECT '/*', * FROM s3/* '*/('a')`,
    `SELECT 1 -- '\n UNION ALL SELECT * FROM url('x')`,
    `SELECT $a$'$a$, file('x') , '`,
    `SELECT * FROM newOne('x')`,
    `SELECT * FROM eval('x')`,
    "SELECT * FROM `\\x66ile`('a')",
    'SELECT * FROM default.`/etc/hosts`',
    `SELECT * FROM 'default'.'x'`,
    `SELECT * FROM default /* */ . x`,
    'USE default',
    `SELECT 1 SETTINGS format_schema = 'x'`,
    'SELECT * FROM \u201cdefault\u201d.x',
  ])('%s', (sql) => {
    expect(() => refuseOutside(sql, functions)).toThrow(/not allowed here|plain quotes/);
  });

  test.each(['max_execution_time', 'MAX_MEMORY_USAGE', 'readonly'])(
    'a limit cannot be lifted inside a statement: %s',
    (name) => {
      const sql = `SELECT 1 SETTINGS ${name} = 0`;
      expect(() => refuseOutside(sql, functions)).toThrow(/is a limit of this user/);
    },
  );

  test.each([
    'SELECT url, file FROM t WHERE s3 = 1 AND (file) = 2',
    `SELECT 'file(x)', "a b" FROM numbers(3)`,
    `SELECT format('{}', 1) -- file('x')`,
    `SELECT * FROM longrein.events WHERE tenant_id = 'default.x'`,
    'SELECT 1.5, t.default FROM t',
  ])('but may say: %s', (sql) => {
    expect(() => refuseOutside(sql, functions)).not.toThrow();
  });

  test('names in parameters are looked at, values are not', () => {
    const values = { settings: {}, parameters: { a: 'default' } };
    const named = { ...values, sql: 'SELECT * FROM {a:Identifier}.x' };
    expect(() => refuseOutsideValues(named)).toThrow(/default/);
    expect(() => refuseOutsideValues({ ...values, sql: 'SELECT {a:String}' })).not.toThrow();
  });

  test('settings beside the statement are looked at', () => {
    const request = { sql: 'SELECT 1', parameters: {}, settings: { format_template_row: '/a' } };
    expect(() => refuseOutsideValues(request)).toThrow(/format_template_row/);
  });
});
