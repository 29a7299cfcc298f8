import { seconds } from '../show/figures.ts';
import { colorOf, escaped, svgOf, type Tone } from '../show/svg.ts';
import type { Span } from './spans.ts';

/** Spans as an SVG document. */

const rowHeight = 24;
const labelWidth = 240;
const chartWidth = 760;
const margin = 16;
const head = 40;

const toneOf = ({ kind, end }: Span): Tone => {
  if (kind === 'wait') return 'quiet';
  return end;
};

const opacity: Readonly<Record<Span['kind'], number>> = {
  session: 0.25,
  task: 0.9,
  model: 0.6,
  tool: 0.45,
  wait: 0.3,
};

function rowOf(span: Span, index: number, scale: { fromMs: number; lengthMs: number }): string {
  const y = head + index * rowHeight;
  const at = (ms: number): number => ((ms - scale.fromMs) / scale.lengthMs) * chartWidth;
  const x = margin + labelWidth + at(span.fromMs);
  const width = Math.max(2, at(span.toMs) - at(span.fromMs));
  const label = escaped(span.name.length > 34 ? `${span.name.slice(0, 33)}…` : span.name);
  const took = seconds(span.toMs - span.fromMs);
  const end = { ok: '', failed: ', failed', open: ', not ended' }[span.end];
  const fill = colorOf(toneOf(span));
  return [
    `<text x="${margin + span.depth * 14}" y="${y + 16}">${label}</text>`,
    `<rect x="${x.toFixed(1)}" y="${y + 4}" width="${width.toFixed(1)}" height="${rowHeight - 8}" rx="3" fill="${fill}" fill-opacity="${opacity[span.kind]}"><title>${escaped(span.name)}: ${took}${end}</title></rect>`,
    `<text class="s" x="${margin + labelWidth + chartWidth + 8}" y="${y + 16}">${took}${end}</text>`,
  ].join('');
}

/** The document; empty of bars where nothing happened yet. */
export function ganttSvg(session: string, spans: readonly Span[]): string {
  const fromMs = spans[0]?.fromMs ?? 0;
  const lengthMs = Math.max(1, ...spans.map(({ toMs }) => toMs - fromMs));
  const size = {
    width: labelWidth + chartWidth + 2 * margin + 110,
    height: head + spans.length * rowHeight + margin,
    title: `Session ${session} over time`,
  };
  return svgOf(size, [
    `<text x="${margin}" y="24">${escaped(session)}, ${seconds(lengthMs)}</text>`,
    ...spans.map((span, index) => rowOf(span, index, { fromMs, lengthMs })),
  ]);
}
