import { columnLines } from '../show/columns.ts';
import { count, usd } from '../show/figures.ts';
import { plainPalette } from '../show/palette.ts';
import type { RowOptions } from '../show/rows.ts';
import { cutTo } from '../show/wrap.ts';
import type { BacktestReport } from './backtest.ts';

/** What a candidate would have changed, for people. */
export function backtestLines(report: BacktestReport, options: RowOptions = {}): readonly string[] {
  const { palette = plainPalette, columns } = options;
  const fit = (line: string): string => (columns === undefined ? line : cutTo(line, columns));
  const { sessions, same, flipped, unreadable, flips, first } = report;
  const changes = report.changes.join('; ') || 'no change';
  const rows = flips.map((one) => [String(one.sessions), one.service, one.recorded, one.decided]);
  const titles = [
    { title: 'SESSIONS', right: true },
    ...['SERVICE', 'DECIDED', 'WOULD DECIDE'].map((title) => ({ title })),
  ];
  const table = rows.length === 0 ? [] : ['', ...columnLines(titles, rows).map(fit)];
  const places = first.map(({ session, place, service }) => `  ${session}  ${place}  ${service}`);
  return [
    palette.heading(`${count(sessions, 'session')} with ${changes}`),
    `${same} go as they went, ${flipped} part from it, ${unreadable} could not be rehearsed`,
    `${count(report.decisionsSame, 'decision')} the same; ${report.decisionsUnknown} after a first other one are not known`,
    `cost ${usd(report.costNanoUsd)}, of it ${usd(report.knownNanoUsd)} before the paths part`,
    ...table,
    ...(places.length === 0 ? [] : ['', 'Where they part first:', ...places.map(fit)]),
  ];
}
