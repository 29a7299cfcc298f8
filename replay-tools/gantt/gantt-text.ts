import { seconds } from '../show/figures.ts';
import { plainPalette } from '../show/palette.ts';
import type { RowOptions } from '../show/rows.ts';
import { cutTo } from '../show/wrap.ts';
import type { Span } from './spans.ts';

/** Spans as bars in a terminal. */

const bars: Readonly<Record<Span['kind'], string>> = {
  session: '━',
  task: '█',
  model: '▓',
  tool: '▒',
  wait: '·',
};

const labelMax = 34;
const timeWidth = 10;

type Scale = Readonly<{ fromMs: number; lengthMs: number; width: number }>;

function barOf({ kind, fromMs, toMs, end }: Span, scale: Scale): string {
  const cell = (ms: number): number =>
    Math.round(((ms - scale.fromMs) / scale.lengthMs) * scale.width);
  const from = Math.min(cell(fromMs), scale.width - 1);
  const length = Math.max(1, Math.min(cell(toMs), scale.width) - from);
  const body = bars[kind].repeat(length);
  const shown = end === 'ok' ? body : `${body.slice(0, -1)}${end === 'failed' ? '✗' : '…'}`;
  return `${' '.repeat(from)}${shown}`.padEnd(scale.width);
}

const labelOf = ({ name, depth }: Span): string => `${'  '.repeat(depth)}${name}`;

/** One line for each span; the legend last. */
export function ganttLines(spans: readonly Span[], options: RowOptions = {}): readonly string[] {
  const { palette = plainPalette, columns = 120 } = options;
  const [whole] = spans;
  if (whole === undefined) return ['Nothing happened yet.'];
  const label = Math.min(labelMax, Math.max(...spans.map((one) => labelOf(one).length)));
  const width = Math.max(10, columns - label - timeWidth - 2);
  const lengthMs = Math.max(1, ...spans.map(({ toMs }) => toMs - whole.fromMs));
  const scale = { fromMs: whole.fromMs, lengthMs, width };
  const lines = spans.map((one) => {
    const took = seconds(one.toMs - one.fromMs).padStart(timeWidth);
    const line = `${cutTo(labelOf(one), label).padEnd(label)} ${barOf(one, scale)} ${took}`;
    if (one.end === 'failed') return palette.error(line);
    return one.kind === 'wait' ? palette.quiet(line) : line;
  });
  const ruler = `${' '.repeat(label)} 0${seconds(lengthMs).padStart(width - 1)}`;
  const legend =
    '█ task  ▓ model call  ▒ tool call  · wait before a further attempt  ✗ failed  … not ended';
  return [palette.quiet(ruler), ...lines, '', palette.quiet(cutTo(legend, columns))];
}
