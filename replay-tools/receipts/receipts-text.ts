import { columnLines } from '../show/columns.ts';
import { count, harmless, shortId, usd } from '../show/figures.ts';
import { plainPalette } from '../show/palette.ts';
import type { RowOptions } from '../show/rows.ts';
import { wrapTo } from '../show/wrap.ts';
import type { Receipt, ReceiptReport, Standing } from './receipts.ts';

/** Receipts for people: a table, or where the terminal is too narrow for it a few lines for each. */

const titles = [
  ...['NO', 'WHAT', 'FOR', 'ASKED', 'GUARD', 'CLAIMED', 'OUTCOME', 'COST', 'IN', 'OUT', 'RECEIPT'],
];

const digestCharacters = 12;
const none = '-';

const digests = (contents: Readonly<Record<string, string>>): string =>
  Object.values(contents)
    .map((digest) => digest.slice(0, digestCharacters))
    .join(' ') || none;

const whatOf = ({ kind, name, version }: Receipt): string =>
  harmless(version === '' ? `${kind} ${name}` : `${kind} ${name} ${version}`);

function guardOf({ decision }: Receipt): string {
  if (decision === null) return none;
  const { answer, place, rule, code } = decision;
  return `${answer} ${place}: ${rule}${code === undefined ? '' : `, ${code}`}`;
}

function claimOf({ claims }: Receipt): string {
  const last = claims.at(-1);
  if (last === undefined) return none;
  const more = claims.length > 1 ? ` (${count(claims.length, 'claim')})` : '';
  return `${last.place} ${last.by} ${last.incarnation.slice(0, 8)}${more}`;
}

function outcomeOf({ outcomes, standing }: Receipt): string {
  const last = outcomes.at(-1);
  if (last === undefined || standing === 'open') return standing;
  const { place, code, because, isolation, exit } = last;
  const rest = [code, because, isolation, exit].filter((part) => part !== undefined);
  return `${standing} ${place}${rest.length === 0 ? '' : ` ${rest.join(', ')}`}`;
}

const cellsOf = (one: Receipt): readonly string[] => [
  ...[String(one.number), whatOf(one), harmless(one.agent), one.requested.place],
  ...[guardOf(one), claimOf(one), outcomeOf(one), usd(one.costNanoUsd)],
  ...[digests(one.input), digests(one.output), one.digest.slice(0, digestCharacters)],
];

/** What nobody can pass over: it failed, was refused, or nobody knows. */
const isWrong = ({ standing }: Receipt): boolean =>
  standing === 'failed' || standing === 'unknown' || standing === 'denied';

function blockLines(one: Receipt, columns: number): readonly string[] {
  const [number = '', what = '', agent = '', ...rest] = cellsOf(one);
  const head = `${number}  ${what} for ${agent} (${shortId(one.call)})`;
  const named = titles.slice(3).map((title, at) => `   ${title.padEnd(8)} ${rest[at] ?? ''}`);
  return [head, ...named].flatMap((line) => wrapTo(line, columns, 12));
}

function tableLines({ receipts }: ReceiptReport): readonly string[] {
  const columns = titles.map((title) => ({ title, right: title === 'NO' || title === 'COST' }));
  return columnLines(columns, receipts.map(cellsOf));
}

const standings: readonly Standing[] = [
  ...(['completed', 'failed', 'unknown', 'denied', 'open', 'not made'] as const),
];

function footLines({ receipts, totals, costNanoUsd, chain }: ReceiptReport): readonly string[] {
  const parts = standings.flatMap((one) => (totals[one] === 0 ? [] : [`${totals[one]} ${one}`]));
  return [
    `${count(receipts.length, 'effect')}: ${parts.join(', ')}; ${usd(costNanoUsd)}. Chain ${chain}.`,
    'NOT SIGNED: receipts are computed from the log, and prove what it says; nobody has put a signature to them.',
  ];
}

export function receiptLines(report: ReceiptReport, options: RowOptions = {}): readonly string[] {
  const { palette = plainPalette, columns } = options;
  const { session, receipts } = report;
  const title = palette.heading(`Receipts of ${session}`);
  if (receipts.length === 0) return [title, 'It asked nobody for anything: no tool, no model.'];
  const [head = '', ...rows] = tableLines(report);
  const paint = (at: number, line: string): string => {
    const one = receipts[at];
    return one !== undefined && isWrong(one) ? palette.error(line) : line;
  };
  const fits =
    columns === undefined || [head, ...rows].every((line) => [...line].length <= columns);
  const body = fits
    ? [palette.heading(head), ...rows.map((line, at) => paint(at, line))]
    : receipts.flatMap((one, at) => blockLines(one, columns).map((line) => paint(at, line)));
  const foot = footLines(report);
  return [
    title,
    ...body,
    '',
    ...(columns === undefined ? foot : foot.flatMap((line) => wrapTo(line, columns, 2))),
  ];
}
