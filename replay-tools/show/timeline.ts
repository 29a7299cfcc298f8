import { firstFailureOf } from '../first-failure/first-failure.ts';
import { type Happening, History } from '../read/history.ts';
import { type JudgedRecord, type JudgedSession, judgeSession } from '../read/session.ts';
import type { SessionSource } from '../read/source.ts';
import { isHousekeeping } from './event-text.ts';
import { count } from './figures.ts';
import { type Filter, filtered } from './filter.ts';
import { plainPalette } from './palette.ts';
import { contentLines, type Row, type RowOptions, rowLines, rowOf } from './rows.ts';
import { summaryLines } from './summary.ts';
import { cutTo, wrapTo } from './wrap.ts';

/** A session as text: a head, and a line for each event that counts. */

export type TimelineOptions = RowOptions &
  Filter &
  Readonly<{
    /** Shows the contents of every event in full. */
    full?: boolean;
    /** Shows also what keeps the house in order, and the records that count for nothing, with the reason. */
    all?: boolean;
    /** Ends with this event, which is shown in full. */
    at?: Happening;
    /** Where contexts were kept when the session failed. */
    kept?: readonly string[];
  }>;

const reasons = {
  'not-accepted': 'its owner was none any more',
  'unknown-session': 'the session was not open yet',
  closed: 'the session was closed',
  duplicate: 'a repeat',
  late: 'too late',
  superseded: 'the timer was set anew or taken back',
  'foreseen-void': 'a turn that it foresaw does not count',
} as const;

function ignoredRow({ record, ignored, verdict }: JudgedRecord): Row {
  const text = ignored === undefined ? `(${verdict})` : `(no effect: ${reasons[ignored]})`;
  const { atMs, service: who, kind, types } = record.header;
  const type = types.join(', ') || kind;
  return { place: `${record.offset}`, atMs, who, type, text, mark: '-' };
}

const isIgnored = ({ verdict, record }: JudgedRecord): boolean =>
  verdict !== 'effective' && record.header.kind !== 'checkpoint';

type Shown = Readonly<{ row: Row; offset: number; of?: Happening }>;

const isFiltered = ({ services, tasks, kinds }: Filter): boolean =>
  [services, tasks, kinds].some((list) => (list?.length ?? 0) > 0);

/** Rows in the order of the log. Who filters sees all that fits, whatever it is. */
function shownOf(history: History, options: TimelineOptions): readonly Shown[] {
  const { all = false, at } = options;
  const chosen = filtered(history, options).filter(
    (one) => all || isFiltered(options) || one === at || !isHousekeeping(one.event.type),
  );
  const openedAtMs = history.openedAtMs;
  const events = chosen.map((one): Shown => {
    const row = rowOf(one, openedAtMs);
    return { row: one === at ? { ...row, mark: '>' } : row, offset: one.offset, of: one };
  });
  if (!all || isFiltered(options)) return events;
  const ignored = history.judged.records.filter(isIgnored).map((one): Shown => {
    return { row: ignoredRow(one), offset: one.record.offset };
  });
  return [...events, ...ignored].toSorted((a, b) => a.offset - b.offset);
}

function bodyLines(history: History, options: TimelineOptions): readonly string[] {
  const { full = false, at, palette = plainPalette } = options;
  const shown = shownOf(history, options);
  const lines = rowLines(
    shown.map(({ row }) => row),
    history.openedAtMs,
    options,
  );
  return shown.flatMap(({ of }, index) => {
    const own = lines[index] ?? [];
    return of !== undefined && (full || of === at) ? [...own, ...contentLines(of, palette)] : own;
  });
}

/** What is not shown, and how to see it. */
function footLines(history: History, options: TimelineOptions): string[] {
  const { all = false, palette = plainPalette } = options;
  if (all || isFiltered(options)) return [];
  const quiet = history.entries.filter(({ event }) => isHousekeeping(event.type)).length;
  const silent = history.judged.records.filter(isIgnored).length;
  const hidden = [
    ...(quiet === 0 ? [] : [`${count(quiet, 'event')} of housekeeping`]),
    ...(silent === 0 ? [] : [`${count(silent, 'record')} without effect (late, repeated or void)`]),
  ];
  if (hidden.length === 0) return [];
  return ['', palette.quiet(`Not shown, see them with --all: ${hidden.join(', ')}.`)];
}

/** Where it went wrong, for a session that failed. */
function wrongLines(history: History): (readonly [string, string])[] {
  const failed = history.entries.some(
    ({ event }) => event.type === 'session.failed' || event.type === 'result.replaced',
  );
  if (!failed) return [];
  const { first, because } = firstFailureOf(history);
  return [['Wrong', `from ${first.place} ${first.event.type} on: ${because}`]];
}

const marked: ReadonlySet<string> = new Set(['Error', 'Wrong']);

function headLines(history: History, options: TimelineOptions): readonly string[] {
  const { palette = plainPalette, columns } = options;
  const lines = summaryLines(history.judged);
  const error = lines.findIndex(([name]) => name === 'Error');
  const kept = (options.kept ?? []).map((path) => ['Context', `kept in ${path}`] as const);
  const all = lines.toSpliced(
    error + 1,
    0,
    ...(error < 0 ? [] : [...wrongLines(history), ...kept]),
  );
  return all.flatMap(([name, text]) => {
    const line = `${name.padEnd(8)} ${text}`;
    const isWrong = marked.has(name);
    const paint = isWrong ? palette.error : palette.heading;
    // A path is no use in parts.
    if (columns === undefined || name === 'Context') return [paint(line)];
    return (isWrong ? wrapTo(line, columns, 9) : [cutTo(line, columns)]).map(paint);
  });
}

/** The session as it stood after this event: nothing that came later. */
function upTo(history: History, at: Happening | undefined): History {
  if (at === undefined) return history;
  const { records, ...rest } = history.judged;
  const kept = records
    .filter(({ record }) => record.offset <= at.offset)
    .map((one) => {
      const { step, record } = one;
      if (step === undefined || record.offset < at.offset) return one;
      const events = step.events.filter(({ index }) => index <= at.event.index);
      return { ...one, step: { ...step, events } };
    });
  const core = kept.findLast(({ step }) => step !== undefined)?.step?.core ?? rest.core;
  return new History({ ...rest, core, records: kept });
}

/**
 * The lines of a timeline. What went wrong begins with `!`, what has no effect with `-`, the event that was asked for
 * with `>`; the place is offset and event index. Throws LongreinError FILTER_EMPTY.
 */
export function timelineLines(
  judged: JudgedSession,
  options: TimelineOptions = {},
): readonly string[] {
  const whole = new History(judged);
  const history = upTo(whole, options.at);
  const at = options.at === undefined ? undefined : history.at(options.at.address);
  const own: TimelineOptions = at === undefined ? options : { ...options, at };
  const later = whole.entries.length - history.entries.length;
  const { palette = plainPalette } = options;
  const rest = later === 0 ? [] : ['', palette.quiet(`${count(later, 'event')} after it.`)];
  const body = bodyLines(history, own);
  return [...headLines(history, own), '', ...body, ...footLines(history, own), ...rest];
}

/** A session as text. Throws LongreinError SESSION_UNKNOWN, FILTER_EMPTY, and what the source throws. */
export async function showSession(
  source: SessionSource,
  options: TimelineOptions = {},
): Promise<string> {
  return `${timelineLines(await judgeSession(source), options).join('\n')}\n`;
}
