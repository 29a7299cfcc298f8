import { columnLines } from '../show/columns.ts';
import { usd } from '../show/figures.ts';
import { plainPalette } from '../show/palette.ts';
import type { RowOptions } from '../show/rows.ts';
import type { CostLine, CostReport } from './cost.ts';

const barWidth = 16;

const share = ({ costNanoUsd }: CostLine, total: CostLine): number =>
  total.costNanoUsd === 0 ? 0 : costNanoUsd / total.costNanoUsd;

function rowOf(line: CostLine, total: CostLine): string[] {
  const { name, calls, failed, inputTokens, outputTokens, costNanoUsd, durationMs } = line;
  const bar = '█'.repeat(Math.round(share(line, total) * barWidth));
  const tokens = [inputTokens, outputTokens].map(String);
  return [
    name,
    String(calls),
    String(failed),
    ...tokens,
    `${durationMs} ms`,
    usd(costNanoUsd),
    bar,
  ];
}

/** The costs of a session as a table with bars. */
export function costLines(report: CostReport, options: RowOptions = {}): readonly string[] {
  const { palette = plainPalette } = options;
  const { by, lines, total, lostNanoUsd, lateNanoUsd, replayedNanoUsd } = report;
  const columns = [
    { title: by.toUpperCase() },
    ...['CALLS', 'FAILED', 'TOKENS IN', 'OUT', 'TIME', 'COST'].map((title) => ({
      title,
      right: true,
    })),
    { title: '' },
  ];
  const rows = [...lines, total].map((line) => rowOf(line, total));
  const [head = '', ...rest] = columnLines(columns, rows);
  const notes = [
    ...report.delegated.map(
      ({ agent, task, to, kind, outcome, costNanoUsd }) =>
        `${usd(costNanoUsd)} of it: ${agent} ${kind === 'handoff' ? 'handed on' : 'delegated'} ${task} to ${to} (${outcome}).`,
    ),
    ...(lostNanoUsd === 0 ? [] : [`${usd(lostNanoUsd)} of it went into attempts that failed.`]),
    ...(lateNanoUsd === 0
      ? []
      : [`${usd(lateNanoUsd)} besides for answers that came when nobody waited for them.`]),
    ...(replayedNanoUsd === 0
      ? []
      : [`${usd(replayedNanoUsd)} is what answers had cost that were replayed here for nothing.`]),
  ];
  return [
    palette.heading(head),
    ...rest.slice(0, -1),
    palette.heading(rest.at(-1) ?? ''),
    ...notes,
  ];
}
