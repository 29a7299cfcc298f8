import { bodyOf, type Content } from '../../schemas/event.ts';
import type { Happening } from '../read/history.ts';
import { eventText, isError } from './event-text.ts';
import { fullText, seconds, size } from './figures.ts';
import { type Palette, plainPalette } from './palette.ts';
import { cutTo, wrapTo } from './wrap.ts';

/** Events as aligned rows: mark, place, time since the opening, who, what, and what matters of it. */

export type RowOptions = Readonly<{
  palette?: Palette;
  /** Width of the terminal: rows are cut there, those of errors are broken. Without it rows are as long as they are. */
  columns?: number;
  /** Widths that columns have at least, for rows that come one by one. */
  widths?: Widths;
}>;

/** `!` went wrong, `-` counts for nothing, `>` is what was asked for. */
export type Mark = ' ' | '!' | '-' | '>';

export type Row = Readonly<{
  place: string;
  atMs: number;
  who: string;
  type: string;
  text: string;
  mark: Mark;
}>;

export const rowOf = (one: Happening, openedAtMs: number): Row => ({
  place: one.place,
  atMs: one.event.atMs,
  who: one.who,
  type: one.event.type,
  text: eventText(one.event, openedAtMs),
  mark: isError(one.event.type) ? '!' : ' ',
});

type Widths = Readonly<Record<'place' | 'since' | 'who' | 'type', number>>;

const sinceOf = ({ atMs }: Row, openedAtMs: number): string =>
  `+${seconds(Math.max(0, atMs - openedAtMs))}`;

const noWidths: Widths = { place: 0, since: 0, who: 0, type: 0 };

function widthsOf(rows: readonly Row[], openedAtMs: number, least: Widths): Widths {
  const width = (name: keyof Widths, text: (row: Row) => string): number =>
    rows.reduce((most, row) => Math.max(most, text(row).length), least[name]);
  return {
    place: width('place', ({ place }) => place),
    since: width('since', (row) => sinceOf(row, openedAtMs)),
    who: width('who', ({ who }) => who),
    type: width('type', ({ type }) => type),
  };
}

const paintOf = ({ mark }: Row, palette: Palette): ((text: string) => string) => {
  if (mark === '!') return palette.error;
  if (mark === '>') return palette.heading;
  return mark === '-' ? palette.quiet : (text) => text;
};

/** Columns that a row's text must have at least; else it begins further left on lines of its own. */
const textColumnsMin = 36;
/** What goes wrong is said again by everybody whom it concerns. */
const wrappedLinesMax = 2;

function fitted(head: string, row: Row, columns: number | undefined): readonly string[] {
  const line = `${head}${row.text}`.trimEnd();
  if (columns === undefined) return [line];
  if (row.mark !== '!' && row.mark !== '>') return [cutTo(line, columns)];
  const indent = columns - head.length >= textColumnsMin ? head.length : 6;
  const lines = wrapTo(line, columns, indent);
  if (lines.length <= wrappedLinesMax || row.mark === '>') return lines;
  const [last = ''] = lines.slice(wrappedLinesMax - 1);
  return [...lines.slice(0, wrappedLinesMax - 1), cutTo(`${last.padEnd(columns)}…`, columns)];
}

/** The rows as lines, columns aligned; one list of lines for each row. */
export function rowLines(
  rows: readonly Row[],
  openedAtMs: number,
  { palette = plainPalette, columns, widths: least = noWidths }: RowOptions = {},
): readonly (readonly string[])[] {
  const widths = widthsOf(rows, openedAtMs, least);
  return rows.map((row) => {
    const at = `${row.place.padStart(widths.place)} ${sinceOf(row, openedAtMs).padStart(widths.since)}`;
    const head = `${row.mark} ${at}  ${row.who.padEnd(widths.who)}  ${row.type.padEnd(widths.type)}  `;
    return fitted(head, row, columns).map(paintOf(row, palette));
  });
}

/** The contents of an event in full, as indented lines. */
export function contentLines({ event }: Happening, palette: Palette): readonly string[] {
  const contents = Object.entries(event.content as Readonly<Record<string, Content>>);
  return contents.flatMap(([name, content]) => {
    const head = `    | ${name} (${content.mediaType}, ${size(content.bytes)}, ${content.digest.slice(0, 12)})`;
    const body = content.body === undefined ? ['its body is nowhere'] : fullText(bodyOf(content));
    const lines = [head, ...body.map((line) => `    |   ${line}`)];
    return lines.map((line) => palette.quiet(line));
  });
}
