import { bodyOf, type Content, type SeenEvent } from '../../schemas/event.ts';
import { type JudgedRecord, type JudgedSession, judgeSession } from '../read/session.ts';
import type { SessionSource } from '../read/source.ts';
import { eventText, isError } from './event-text.ts';
import { count, fullText, seconds, size } from './figures.ts';
import { type Palette, plainPalette } from './palette.ts';
import { summaryLines } from './summary.ts';

/** A session as text: a head, and a line for each event that counts. */

export type TimelineOptions = Readonly<{
  /** Shows the contents of every event in full. */
  full?: boolean;
  /** Shows also the records that count for nothing, and why. */
  all?: boolean;
  palette?: Palette;
}>;

type Settings = Readonly<{
  full: boolean;
  all: boolean;
  palette: Palette;
  openedAtMs: number;
  serviceWidth: number;
  typeWidth: number;
}>;

type Row = Readonly<{
  place: string;
  atMs: number;
  service: string;
  type: string;
  text: string;
  mark: ' ' | '!' | '-';
}>;

function rowText(row: Row, settings: Settings): string {
  const { serviceWidth, typeWidth, openedAtMs, palette } = settings;
  const since = `+${seconds(Math.max(0, row.atMs - openedAtMs))}`.padStart(11);
  const who = `${row.service.padEnd(serviceWidth)}  ${row.type.padEnd(typeWidth)}`;
  const line = `${row.mark} ${row.place.padStart(7)} ${since}  ${who}  ${row.text}`.trimEnd();
  if (row.mark === '!') return palette.error(line);
  return row.mark === '-' ? palette.quiet(line) : line;
}

function contentLines(event: SeenEvent, settings: Settings): string[] {
  const contents = Object.entries(event.content as Readonly<Record<string, Content>>);
  return contents.flatMap(([name, content]) => {
    const head = `    | ${name} (${content.mediaType}, ${size(content.bytes)}, ${content.digest.slice(0, 12)})`;
    const body = content.body === undefined ? ['its body is nowhere'] : fullText(bodyOf(content));
    const lines = [head, ...body.map((line) => `    |   ${line}`)];
    return lines.map((line) => settings.palette.quiet(line));
  });
}

/** For an input who wrote it, for an event of a turn who decided it. */
const serviceOf = (event: SeenEvent, { record }: JudgedRecord): string =>
  event.service === 'input' ? record.header.service : event.service;

function eventLines(event: SeenEvent, judged: JudgedRecord, settings: Settings): string[] {
  const { atMs, type, index } = event;
  const row: Row = {
    place: `${judged.record.offset}.${index}`,
    atMs,
    service: serviceOf(event, judged),
    type,
    text: eventText(event, settings.openedAtMs),
    mark: isError(type) ? '!' : ' ',
  };
  const line = rowText(row, settings);
  return settings.full ? [line, ...contentLines(event, settings)] : [line];
}

const reasons = {
  'not-accepted': 'its owner was none any more',
  'unknown-session': 'the session was not open yet',
  closed: 'the session was closed',
  duplicate: 'a repeat',
  late: 'too late',
  superseded: 'the timer was set anew or taken back',
  'foreseen-void': 'a turn that it foresaw does not count',
} as const;

function ignoredLine({ record, ignored, verdict }: JudgedRecord, settings: Settings): string {
  const { header, offset } = record;
  const why = ignored === undefined ? `(${verdict})` : `(no effect: ${reasons[ignored]})`;
  const { atMs, service, kind, types } = header;
  const type = types.join(', ') || kind;
  const row = { place: `${offset}`, atMs, service, type, text: why, mark: '-' } as const;
  return rowText(row, settings);
}

const isIgnored = ({ verdict, record }: JudgedRecord): boolean =>
  verdict !== 'effective' && record.header.kind !== 'checkpoint';

function recordLines(judged: JudgedRecord, settings: Settings): string[] {
  const events = judged.step?.events ?? [];
  if (events.length > 0) return events.flatMap((event) => eventLines(event, judged, settings));
  return settings.all && isIgnored(judged) ? [ignoredLine(judged, settings)] : [];
}

function settingsOf(session: JudgedSession, options: TimelineOptions): Settings {
  const events = session.records.flatMap((one) =>
    (one.step?.events ?? []).map((event) => ({ event, service: serviceOf(event, one) })),
  );
  const width = (texts: readonly string[]): number =>
    Math.max(0, ...texts.map(({ length }) => length));
  return {
    full: options.full ?? false,
    all: options.all ?? false,
    palette: options.palette ?? plainPalette,
    openedAtMs: events[0]?.event.atMs ?? session.records[0]?.record.header.atMs ?? 0,
    serviceWidth: width(events.map(({ service }) => service)),
    typeWidth: width(events.map(({ event }) => event.type)),
  };
}

function footLines(session: JudgedSession, { all, palette }: Settings): string[] {
  const silent = session.records.filter(isIgnored).length;
  if (silent === 0 || all) return [];
  const hidden = `${count(silent, 'record')} without effect not shown (late, repeated or void)`;
  return ['', palette.quiet(hidden)];
}

/** The lines of a timeline. Errors begin with `!`, what has no effect with `-`; the place is offset and event index. */
export function timelineLines(
  session: JudgedSession,
  options: TimelineOptions = {},
): readonly string[] {
  const settings = settingsOf(session, options);
  const { palette } = settings;
  const head = summaryLines(session).map(([name, text]) => {
    const line = `${name.padEnd(8)} ${text}`;
    return name === 'Error' ? palette.error(line) : palette.heading(line);
  });
  const events = session.records.flatMap((one) => recordLines(one, settings));
  return [...head, '', ...events, ...footLines(session, settings)];
}

/** A session as text. Throws LongreinError SESSION_UNKNOWN, and what the source throws. */
export async function showSession(
  source: SessionSource,
  options: TimelineOptions = {},
): Promise<string> {
  return `${timelineLines(await judgeSession(source), options).join('\n')}\n`;
}
