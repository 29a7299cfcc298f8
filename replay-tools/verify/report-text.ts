import { count } from '../show/figures.ts';
import { type Palette, plainPalette } from '../show/palette.ts';
import type { Difference, HashedTurns, VerifyReport } from './report.ts';

/** A report of `verify` for people. The `--json` form is the report itself. */

function verdictLine({ identical, complete, status, differences }: VerifyReport): string {
  if (!identical) return `DIFFERS in ${count(differences.length, 'place')}`;
  if (status === 'unknown') return 'NOT VERIFIED: nothing could be decided again';
  const sofar = status === 'running' ? ' so far: the session still runs' : '';
  return `IDENTICAL${sofar}${complete ? '' : ', some of it by hash only'}`;
}

export function differenceLines(difference: Difference, palette: Palette): string[] {
  const { service, record, offset, eventIndex, eventType, message, release, behaviour } =
    difference;
  const event = eventIndex === undefined ? '' : `, event ${eventIndex} (${eventType ?? ''})`;
  const author = release === '' ? '' : ` by release ${release}, behaviour ${behaviour}`;
  const head = `! ${service}: ${message}`;
  const place = `  record ${record} at offset ${offset}${event}${author}`;
  const changes = difference.changes.flatMap(({ pointer, expected, actual }) => [
    `  ${pointer || '/'}`,
    `    recorded ${expected ?? '(nothing)'}`,
    ...(actual === undefined && expected !== undefined && difference.kind !== 'decision'
      ? []
      : [`    now      ${actual ?? '(nothing)'}`]),
  ]);
  return [palette.error(head), place, ...changes];
}

function serviceLines({ services }: VerifyReport): string[] {
  return Object.entries(services).map(([name, { turns, decisions, events, hashOnly }]) => {
    const rest = hashOnly === 0 ? '' : `, ${hashOnly} by hash only`;
    return `  ${name}: ${count(turns, 'turn')} with ${count(events, 'event')}, ${decisions} decided again${rest}`;
  });
}

const hashedLine = ({ service, behaviour, release, turns, because }: HashedTurns): string =>
  `  note: ${count(turns, 'turn')} of behaviour ${behaviour} of release ${release} checked by hash (${service}): ${because}`;

/** The report as lines. */
export function reportLines(
  report: VerifyReport,
  palette: Palette = plainPalette,
): readonly string[] {
  const { counts } = report;
  const verdict = verdictLine(report);
  return [
    palette.heading(`Session ${report.session}, ${report.origin}`),
    report.identical ? palette.heading(verdict) : palette.error(verdict),
    `  ${count(counts.records, 'record')}, ${count(counts.events, 'event')}, ${count(counts.decisions, 'decision')} computed again, ${count(counts.contents, 'content')} hashed again, ${count(counts.ignored + counts.void, 'record')} without effect`,
    ...serviceLines(report),
    ...report.differences.flatMap((difference) => ['', ...differenceLines(difference, palette)]),
    ...report.hashed.map((one) => palette.quiet(hashedLine(one))),
    ...report.warnings.map((warning) => palette.quiet(`  note: ${warning}`)),
  ];
}
