import { describe, expect, it } from 'vitest';
import { asObjects, isNumeric, readRows } from '../../../../../services/console/cli/query-rows.ts';

describe('rows of ClickHouse', () => {
  it('are numbers where they fit, text where they would lose digits', () => {
    const meta = [
      { name: 'n', type: 'UInt64' },
      { name: 'big', type: 'UInt64' },
      { name: 's', type: 'String' },
      { name: 'none', type: 'Nullable(Int64)' },
    ];
    const data = [['42', '18446744073709551615', '42', null]];
    const rows = readRows(JSON.stringify({ meta, data }));
    expect(asObjects(rows)).toEqual([{ n: 42, big: '18446744073709551615', s: '42', none: null }]);
  });

  it('know which columns are numbers', () => {
    expect(['UInt8', 'Nullable(Float64)', 'Decimal64(3)'].every(isNumeric)).toBe(true);
    expect(['String', 'DateTime64(3)', 'Interval'].some(isNumeric)).toBe(false);
  });

  it('say what to do where the statement chose another format', () => {
    expect(() => readRows('a\tb\n')).toThrow('not JSON');
  });
});
