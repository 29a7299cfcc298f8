import type { Happening } from '../read/history.ts';
import { columnLines } from '../show/columns.ts';
import { eventText, isError } from '../show/event-text.ts';
import { count, seconds, shortId, usd } from '../show/figures.ts';
import { plainPalette } from '../show/palette.ts';
import type { RowOptions } from '../show/rows.ts';
import { cutTo } from '../show/wrap.ts';
import type { DiffKind, DiffRow, Outcome, SessionDiff } from './diff.ts';

/** Two sessions side by side in a terminal. */

type Figure = readonly [
  name: string,
  say: (of: Outcome) => string,
  amount?: (of: Outcome) => number,
];

const amount = (name: keyof Outcome, title: string): Figure => [
  title,
  (of) => String(of[name]),
  (of) => Number(of[name]),
];

const figures: readonly Figure[] = [
  ['session', ({ session }) => shortId(session)],
  ['status', ({ status, code }) => (code === '' ? status : `${status}, ${code}`)],
  ['time', ({ durationMs }) => seconds(durationMs), ({ durationMs }) => durationMs],
  ['cost', ({ costNanoUsd }) => usd(costNanoUsd), ({ costNanoUsd }) => costNanoUsd],
  amount('inputTokens', 'tokens in'),
  amount('outputTokens', 'tokens out'),
  amount('modelCalls', 'model calls'),
  amount('toolCalls', 'tool calls'),
  amount('failedCalls', 'failed calls'),
  amount('tasksCompleted', 'tasks completed'),
  amount('tasksFailed', 'tasks failed'),
  amount('attempts', 'attempts'),
  amount('events', 'events'),
];

function changeText(one: number, other: number): string {
  if (one === other) return '=';
  const sign = other > one ? '+' : '−';
  const by = Math.abs(other - one);
  if (one === 0) return `${sign}${by}`;
  return `${sign}${Math.round((by / one) * 100)} %`;
}

function figureRows({ one, other, sameOutput }: SessionDiff): string[][] {
  const rows = figures.map(([name, say, number]) => {
    const change = number === undefined ? '' : changeText(number(one), number(other));
    return [name, say(one), say(other), change];
  });
  return [...rows, ['output', '', '', sameOutput ? 'the same' : 'another one']];
}

const marks: Readonly<Record<DiffKind, string>> = {
  same: ' ',
  changed: '~',
  removed: '<',
  added: '>',
};

/** Steps around a difference that are shown besides it. */
const around = 2;

/** Which rows are shown: what differs, and a little around it. */
function shownRows(rows: readonly DiffRow[], all: boolean): ReadonlySet<number> {
  const shown = new Set<number>();
  for (const [index, { kind }] of rows.entries()) {
    if (!all && kind === 'same') continue;
    for (let at = index - around; at <= index + around; at++) shown.add(at);
  }
  return shown;
}

const sideText = (one: Happening | undefined, openedAtMs: number): string =>
  one === undefined ? '' : `${one.place} ${one.event.type} ${eventText(one.event, openedAtMs)}`;

function rowLine(row: DiffRow, width: number, { palette = plainPalette }: RowOptions): string {
  const [left, right] = [row.one?.happening, row.other?.happening].map((one) =>
    cutTo(sideText(one, one?.event.atMs ?? 0), width),
  );
  const line = `${marks[row.kind]} ${(left ?? '').padEnd(width)} │ ${right ?? ''}`.trimEnd();
  if (row.kind === 'same') return palette.quiet(line);
  const wrong = [row.one, row.other].some((one) => isError(one?.happening.event.type ?? ''));
  return wrong ? palette.error(line) : line;
}

function pathLines(rows: readonly DiffRow[], options: RowOptions & { all?: boolean }): string[] {
  const width = Math.floor(((options.columns ?? 160) - 5) / 2);
  const shown = shownRows(rows, options.all ?? false);
  const lines: string[] = [];
  let folded = 0;
  const fold = (): void => {
    if (folded > 0) lines.push(`  … ${count(folded, 'step')} the same`);
    folded = 0;
  };
  for (const [index, row] of rows.entries()) {
    if (!shown.has(index)) {
      folded += 1;
      continue;
    }
    fold();
    lines.push(rowLine(row, width, options));
  }
  fold();
  return lines;
}

export function diffLines(
  diff: SessionDiff,
  options: RowOptions & { all?: boolean } = {},
): readonly string[] {
  const { palette = plainPalette } = options;
  const [head = '', ...rest] = columnLines(
    [{ title: '' }, { title: 'A' }, { title: 'B' }, { title: 'CHANGE' }],
    figureRows(diff),
  );
  const { parts } = diff;
  const place = parts?.one?.happening.place ?? parts?.other?.happening.place ?? '';
  const where =
    parts === undefined
      ? 'Both took the same path with the same contents.'
      : `The paths part at ${place} (${(parts.one ?? parts.other)?.key ?? ''}).`;
  return [
    palette.heading(head),
    ...rest,
    '',
    palette.heading(where),
    ...(parts === undefined ? [] : pathLines(diff.rows, options)),
  ];
}

/** As one JSON document. */
export function diffDocument({ one, other, sameOutput, rows, parts }: SessionDiff) {
  const row = ({ kind, one: left, other: right }: DiffRow) => ({
    kind,
    step: (left ?? right)?.key,
    ...(left === undefined ? {} : { a: left.happening.address }),
    ...(right === undefined ? {} : { b: right.happening.address }),
  });
  const differing = rows.filter(({ kind }) => kind !== 'same').map(row);
  return {
    ...{ a: one, b: other, sameOutput, identical: parts === undefined },
    ...{ sameSteps: rows.length - differing.length, differences: differing },
  };
}
