/** Spending as a table with bars. Pure. */
import { dollars } from './figures.ts';
import { table } from './table.ts';
import type { Terminal } from './terminal.ts';

export interface CostLine {
  readonly name: string;
  readonly costNanoUsd: number;
  readonly calls: number;
  readonly errors: number;
  readonly tokensIn: number;
  readonly tokensOut: number;
}

const eighths = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/** A bar of up to `width` characters, in steps of an eighth. */
export function bar(share: number, width: number): string {
  const parts = Math.round(Math.min(1, Math.max(0, share)) * width * 8);
  return '█'.repeat(Math.floor(parts / 8)) + (eighths[parts % 8] ?? '');
}

/** `812`, `45.2k`, `3.1M`. */
export function short(count: number): string {
  if (count < 10_000) return String(count);
  const [unit, size] = count < 1e6 ? ['k', 1e3] : count < 1e9 ? ['M', 1e6] : ['G', 1e9];
  const value = count / (size as number);
  return `${value < 100 ? value.toFixed(1) : Math.round(value)}${unit}`;
}

export const totalOf = (lines: readonly CostLine[]): CostLine =>
  lines.reduce(
    (sum, line) => ({
      name: 'total',
      costNanoUsd: sum.costNanoUsd + line.costNanoUsd,
      calls: sum.calls + line.calls,
      errors: sum.errors + line.errors,
      tokensIn: sum.tokensIn + line.tokensIn,
      tokensOut: sum.tokensOut + line.tokensOut,
    }),
    { name: 'total', costNanoUsd: 0, calls: 0, errors: 0, tokensIn: 0, tokensOut: 0 },
  );

const barWidthMax = 30;

export function costTable(
  { columns, colors }: Terminal,
  what: { by: string; lines: readonly CostLine[]; total: CostLine },
): string {
  const { by, lines, total } = what;
  const most = Math.max(1, ...lines.map((line) => line.costNanoUsd));
  const cells = (line: CostLine, end: string): string[] => [
    line.name,
    dollars(line.costNanoUsd),
    share(line, total),
    short(line.calls),
    short(line.errors),
    `${short(line.tokensIn)} / ${short(line.tokensOut)}`,
    end,
  ];
  const nameWidth = Math.max(by.length, ...lines.map((line) => [...line.name].length));
  const barWidth = Math.max(6, Math.min(barWidthMax, columns - Math.min(nameWidth, 36) - 52));
  const right = true;
  const rows = lines.map((line) => cells(line, bar(line.costNanoUsd / most, barWidth)));
  return table({
    columns: [
      { title: by.toUpperCase() },
      { title: 'COST', right },
      { title: '%', right },
      { title: 'CALLS', right },
      {
        title: 'FAILED',
        right,
        paint: (padded, value) => (value === '0' ? padded : colors.red(padded)),
      },
      { title: 'TOKENS IN / OUT', right },
      { title: '', paint: (padded) => colors.cyan(padded) },
    ],
    rows: lines.length < 2 ? rows : [...rows, cells(total, '')],
    widthMax: columns,
    paintTitle: colors.bold,
  });
}

function share(line: CostLine, total: CostLine): string {
  return total.costNanoUsd === 0 ? '' : ((100 * line.costNanoUsd) / total.costNanoUsd).toFixed(1);
}
