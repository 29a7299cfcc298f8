import { describe, expect, it } from 'vitest';
import { table } from '../../../../../services/console/cli/table.ts';

describe('a table', () => {
  it('aligns columns, numbers to the right, without blanks at the end', () => {
    const text = table({
      columns: [{ title: 'NAME' }, { title: 'EVENTS', right: true }, { title: 'WHY' }],
      rows: [
        ['a', '7', ''],
        ['longer', '1234567', 'because'],
      ],
      widthMax: 80,
    });
    expect(text).toBe('NAME     EVENTS  WHY\na             7\nlonger  1234567  because\n');
  });

  it('takes from the widest column what does not fit', () => {
    const rows = [['short', 'x'.repeat(50)]];
    const text = table({ columns: [{ title: 'A' }, { title: 'B' }], rows, widthMax: 30 });
    const lines = text.trimEnd().split('\n');
    expect(lines[1]).toBe(`short  ${'x'.repeat(22)}…`);
    expect(lines.every((line) => line.length <= 30)).toBe(true);
  });

  it('paints a cell after it was padded', () => {
    const paint = (cell: string, value: string): string => `[${value}|${cell}]`;
    const columns = [{ title: 'STATE', paint }, { title: 'X' }];
    expect(table({ columns, rows: [['ok', 'y']], widthMax: 40 })).toContain('[ok|ok   ]  y');
  });

  it('puts a cell with line feeds on one line', () => {
    const text = table({ columns: [{ title: 'A' }], rows: [['one\ntwo']], widthMax: 40 });
    expect(text).toBe('A\none two\n');
  });
});
