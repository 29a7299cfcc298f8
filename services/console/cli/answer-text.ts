/** An answer of ClickHouse for people: aligned columns and a count. Pure. */
import { count } from './figures.ts';
import { asObjects, isNumeric, type Rows } from './query-rows.ts';
import { table } from './table.ts';
import type { Terminal } from './terminal.ts';

export const answerFormats = ['table', 'json', 'csv'] as const;
export type AnswerFormat = (typeof answerFormats)[number];

export function answerTable({ columns, colors }: Terminal, { columns: names, rows }: Rows): string {
  const text = table({
    columns: names.map(({ name, type }) => ({
      title: name,
      ...(isNumeric(type) ? { right: true } : {}),
    })),
    rows: rows.map((row) => row.map(cell)),
    widthMax: columns,
    paintTitle: colors.bold,
  });
  return `${text}${colors.dim(count(rows.length, 'row'))}\n`;
}

export const answerDocument = (rows: Rows): { columns: Rows['columns']; rows: object[] } => ({
  columns: rows.columns,
  rows: asObjects(rows),
});

function cell(value: unknown): string {
  if (value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
