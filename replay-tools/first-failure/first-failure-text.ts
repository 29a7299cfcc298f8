import type { History } from '../read/history.ts';
import { count } from '../show/figures.ts';
import { plainPalette } from '../show/palette.ts';
import { contentLines, type RowOptions, rowLines, rowOf } from '../show/rows.ts';
import { wrapTo } from '../show/wrap.ts';
import type { FirstFailure } from './first-failure.ts';

/** The first failure for people: which event, why, what it led to, and what it was not. */
export function firstFailureLines(
  history: History,
  { first, because, chain, harmless }: FirstFailure,
  options: RowOptions = {},
): readonly string[] {
  const { palette = plainPalette, columns } = options;
  const { openedAtMs } = history;
  const rows = chain.map((one, index) => {
    const row = rowOf(one, openedAtMs);
    return index === 0 ? { ...row, mark: '>' as const } : row;
  });
  const text = `${first.place} ${first.event.type} made it inevitable: ${because}.`;
  const head = columns === undefined ? [text] : wrapTo(text, columns, 2);
  const [own = [], ...rest] = rowLines(rows, openedAtMs, options);
  return [
    ...head.map(palette.error),
    '',
    ...own,
    ...contentLines(first, palette),
    ...rest.flat(),
    ...harmlessLines(harmless, openedAtMs, options),
  ];
}

function harmlessLines(
  harmless: FirstFailure['harmless'],
  openedAtMs: number,
  options: RowOptions,
): readonly string[] {
  if (harmless.length === 0) return [];
  const { palette = plainPalette } = options;
  const what = count(harmless.length, 'event that went wrong', 'events that went wrong');
  const rows = harmless.map((one) => ({ ...rowOf(one, openedAtMs), mark: '-' as const }));
  return [
    '',
    palette.quiet(`Before it ${what} and did not decide the outcome:`),
    ...rowLines(rows, openedAtMs, options).flat(),
  ];
}
