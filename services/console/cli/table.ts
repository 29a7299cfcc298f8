/** Aligned columns for people. Pure; colours are given from outside. */
import { oneLine } from './figures.ts';

export interface Column {
  readonly title: string;
  /** Numbers stand to the right. */
  readonly right?: boolean;
  /** Colours a cell after it was padded. */
  readonly paint?: (padded: string, value: string) => string;
}

export interface TableOptions {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly string[])[];
  /** Lines are cut at this width. */
  readonly widthMax: number;
  readonly paintTitle?: (text: string) => string;
}

const gap = '  ';
const cellMin = 8;

/** One line for the titles and one for each row, each ending with a line feed. */
export function table(options: TableOptions): string {
  const { columns, rows } = options;
  const titles = columns.map((column) => column.title);
  const flat = rows.map((row) => columns.map((_, index) => oneLine(row[index] ?? '', 10_000)));
  const widths = fitWidths(
    titles.map((title, index) =>
      Math.max(widthOf(title), ...flat.map((row) => widthOf(row[index] ?? ''))),
    ),
    options.widthMax,
  );
  const plain = columns.map(({ right }) => ({ title: '', ...(right ? { right } : {}) }));
  const head = line(titles, plain, widths);
  const paintTitle = options.paintTitle ?? ((text: string) => text);
  const lines = [paintTitle(head), ...flat.map((row) => line(row, columns, widths))];
  return lines.map((text) => `${text}\n`).join('');
}

const widthOf = (text: string): number => [...text].length;

/** Takes from the widest columns until the line fits; none becomes narrower than `cellMin`. */
function fitWidths(widths: readonly number[], widthMax: number): number[] {
  const narrowed = [...widths];
  const room = widthMax - gap.length * (widths.length - 1);
  for (let excess = sum(narrowed) - room; excess > 0; excess = sum(narrowed) - room) {
    const widest = narrowed.indexOf(Math.max(...narrowed));
    const width = narrowed[widest] ?? 0;
    if (width <= cellMin) break;
    const others = narrowed.filter((_, index) => index !== widest);
    const next = Math.max(cellMin, ...others.filter((one) => one < width));
    narrowed[widest] = Math.max(next === width ? width - 1 : next, width - excess);
  }
  return narrowed;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);

function line(
  cells: readonly string[],
  columns: readonly Column[],
  widths: readonly number[],
): string {
  const padded = columns.map((column, index) => {
    const value = cells[index] ?? '';
    const text = oneLine(value, widths[index] ?? 0);
    const blanks = ' '.repeat(Math.max(0, (widths[index] ?? 0) - widthOf(text)));
    const last = index === columns.length - 1;
    const cell = column.right ? blanks + text : last ? text : text + blanks;
    return column.paint?.(cell, value) ?? cell;
  });
  return padded.join(gap).trimEnd();
}
