import { exception } from './exception.ts';
import { isWord, type Token, tokens } from './tokens.ts';

/**
 * What a statement is, as far as it decides how it is run. `format` is the one that it names
 * itself.
 */
export type Statement = Readonly<{
  kind: 'insert' | 'select' | 'other';
  format: string | undefined;
}>;

/**
 * Looks at a statement. Throws code 62 for several statements in one request and 344 for INTO
 * OUTFILE and FROM INFILE: a server leaves those to its clients, this engine would carry them out.
 */
export function readStatement(sql: string): Statement {
  let kind: Statement['kind'] | undefined;
  let previous: Token | undefined;
  let ended = false;
  for (const token of tokens(sql)) {
    if (ended) throw exception(62, 'Multi-statements are not allowed: send one at a time');
    kind ??= kindOf(token);
    refuseFiles(previous, token);
    if (kind === 'insert' && startsData(previous, token)) return { kind, format: undefined };
    if (token.kind === 'sign' && token.text === ';') ended = true;
    previous = token;
  }
  return { kind: kind ?? 'other', format: closingFormat.exec(sql)?.groups?.name };
}

const closingFormat = /\bFORMAT\s+(?<name>\w+)\s*(?:\bSETTINGS\b[^;']*)?;?\s*$/i;

/** What follows is data, which is not cut into tokens. */
function startsData(previous: Token | undefined, token: Token): boolean {
  return isWord(token, 'VALUES') || (isWord(previous, 'FORMAT') && token.kind === 'word');
}

function kindOf(first: Token): Statement['kind'] {
  if (isWord(first, 'INSERT')) return 'insert';
  return isWord(first, 'SELECT') || isWord(first, 'WITH') ? 'select' : 'other';
}

function refuseFiles(previous: Token | undefined, token: Token): void {
  const toFile = isWord(previous, 'INTO') && isWord(token, 'OUTFILE');
  if (toFile || (isWord(previous, 'FROM') && isWord(token, 'INFILE'))) {
    throw exception(
      344,
      'INTO OUTFILE and FROM INFILE are for clients; send or read the data over HTTP',
    );
  }
}

/** An insert whose rows can be handed to the engine's parser as they came. */
export type RowInsert = Readonly<{
  table: string;
  columns: readonly string[] | undefined;
  format: RowFormat;
}>;

const rowFormats = [
  'JSONEachRow',
  'JSONCompactEachRow',
  'CSV',
  'CSVWithNames',
  'TSV',
  'TabSeparated',
  'TSVWithNames',
  'TabSeparatedWithNames',
] as const;
export type RowFormat = (typeof rowFormats)[number];

const name = '(?:`\\w+`|\\w+)';
const insertPattern = new RegExp(
  `^\\s*INSERT\\s+INTO\\s+(?:TABLE\\s+)?(?<table>${name}(?:\\.${name})?)\\s*` +
    `(?:\\((?<columns>\\s*${name}(?:\\s*,\\s*${name})*\\s*)\\)\\s*)?` +
    `FORMAT\\s+(?<format>\\w+)\\s*;?\\s*$`,
  'i',
);

/** The parts of a plain `INSERT INTO table (columns) FORMAT name`; undefined for anything more. */
export function rowInsert(sql: string): RowInsert | undefined {
  const groups = insertPattern.exec(sql)?.groups;
  const format = rowFormats.find((known) => known === groups?.format);
  const table = groups?.table;
  if (table === undefined || format === undefined) return undefined;
  const columns = groups?.columns;
  return {
    table: plain(table),
    columns: columns?.split(',').map((each) => plain(each.trim())),
    format,
  };
}

/** A plain insert with named columns whose rows are no text. */
export type FileInsert = Readonly<{
  table: string;
  columns: readonly string[];
  format: 'Parquet' | 'Native' | 'Arrow';
}>;

const fileFormats = ['Parquet', 'Native', 'Arrow'] as const;

/** The parts of `INSERT INTO table (columns) FORMAT Parquet` and its like; undefined for others. */
export function fileInsert(sql: string): FileInsert | undefined {
  const groups = insertPattern.exec(sql)?.groups;
  const format = fileFormats.find((known) => known === groups?.format);
  if (format === undefined || groups?.table === undefined || groups.columns === undefined)
    return undefined;
  const columns = groups.columns.split(',').map((each) => plain(each.trim()));
  return { table: plain(groups.table), columns, format };
}

function plain(quoted: string): string {
  return quoted.replaceAll('`', '');
}
