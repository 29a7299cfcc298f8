import { describe, expect, test } from 'vitest';
import { statementFor } from '../../../../../services/console/cli/commands/cost.ts';
import { bar, costTable, short, totalOf } from '../../../../../services/console/cli/cost-text.ts';
import { pairsOf } from '../../../../../services/console/cli/pairs.ts';
import {
  parametersFor,
  parseQuery,
  readReadyQueries,
  readyQuery,
} from '../../../../../services/console/cli/ready-query.ts';
import { parseMoment } from '../../../../../services/console/cli/time-span.ts';
import { fakeTerminal } from '../../../../support/fake-terminal.ts';

/** What `cost`, `query` and `sql` are made of. */

const nowMs = Date.UTC(2026, 2, 15, 12);

describe('times', () => {
  test.each([
    ['90m', nowMs - 5_400_000],
    ['7d', nowMs - 604_800_000],
    ['2026-03-01', Date.UTC(2026, 2, 1)],
    ['2026-03-01T10:00:00Z', Date.UTC(2026, 2, 1, 10)],
    ['now', nowMs],
  ])('%s', (text, ms) => {
    expect(parseMoment(text, nowMs)).toBe(ms);
  });

  test.each(['7', 'yesterday', '7 d', '2026-13-01', ''])('"%s" is none', (text) => {
    expect(() => parseMoment(text, nowMs)).toThrow(/is no time/);
  });
});

describe('ready questions', () => {
  const text = '-- Who?\n-- @n UInt8=3 how many\n-- @of String of whom\nSELECT {n:UInt8}\n';
  const query = parseQuery('who', text);
  const given = { tenant: 'acme', sinceMs: 1_000, untilMs: 2_999, more: { of: 'us' } };

  test('a file has a title, parameters and a statement', () => {
    expect(query).toMatchObject({ title: 'Who?', scans: false, sql: 'SELECT {n:UInt8}' });
    expect(parametersFor(query, given)).toEqual({
      ...{ tenant: 'acme', since: '1', until: '2', n: '3', of: 'us' },
    });
  });

  test('what is missing or not known is named', () => {
    expect(() => parametersFor(query, { ...given, more: {} })).toThrow(/needs a value for of/);
    expect(() => parametersFor(query, { ...given, more: { of: '', x: '' } })).toThrow(/"x"/);
    expect(() => readyQuery('wastes')).toThrow(
      expect.objectContaining({ fix: expect.stringContaining('Did you mean waste?') }),
    );
    expect(() => pairsOf(['a'])).toThrow(/name=value|no parameter/);
  });

  test('each names every parameter that its statement takes', () => {
    for (const { name, sql, parameters } of readReadyQueries()) {
      const taken = [...sql.matchAll(/\{(\w+):\w+\}/g)].map((found) => found[1]);
      const known = ['tenant', 'since', 'until', ...parameters.map((one) => one.name)];
      expect(
        taken.filter((one) => !known.includes(one ?? '')),
        name,
      ).toEqual([]);
      expect(
        parameters.filter((one) => !taken.includes(one.name)),
        name,
      ).toEqual([]);
    }
  });
});

describe('spending', () => {
  const line = { calls: 12, errors: 1, tokensIn: 45_000, tokensOut: 900 };
  const lines = [
    { ...line, name: 'gpt-x', costNanoUsd: 3_000_000_000 },
    { ...line, name: 'gpt-x-mini', costNanoUsd: 1_000_000_000, errors: 0 },
  ];

  test('bars are as long as their share, in eighths', () => {
    expect([bar(1, 4), bar(0.5, 4), bar(0.03, 4), bar(0, 4), bar(7, 2)]).toEqual([
      ...['████', '██', '▏', '', '██'],
    ]);
  });

  test('a line each, the total below', () => {
    const terminal = { ...fakeTerminal(), columns: 90 };
    const text = costTable(terminal, { by: 'model', lines, total: totalOf(lines) });
    const rows = text.split('\n');
    expect(rows[0]).toMatch(/^MODEL +COST +% +CALLS +FAILED +TOKENS IN \/ OUT$/);
    expect(rows[1]).toMatch(/^gpt-x +\$3\.00 +75\.0 +12 +1 +45\.0k \/ 900 +█{10,}$/);
    expect(rows[3]).toMatch(/^total +\$4\.00 +100\.0 +24 +1 +90\.0k \/ 1800$/);
    for (const row of rows) expect([...row].length).toBeLessThanOrEqual(90);
  });

  test('large numbers are short', () => {
    expect([short(9_999), short(45_210), short(3_100_000), short(12_000_000)]).toEqual([
      ...['9999', '45.2k', '3.1M', '12.0M'],
    ]);
  });

  test('a way that is not there is told with the nearest one', () => {
    expect(() => statementFor('models')).toThrow(
      expect.objectContaining({ fix: expect.stringContaining('Did you mean model?') }),
    );
    expect(statementFor('label:team')).toContain('labels_map[{label:String}]');
  });
});
