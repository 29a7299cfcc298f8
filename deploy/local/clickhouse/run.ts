import { isUtf8 } from 'node:buffer';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ChdbQueryStream, RawInsertParams, Session } from 'chdb';
import { exception } from './exception.ts';
import type { StatementRequest } from './request.ts';
import { type FileInsert, fileInsert, readStatement, rowInsert } from './statement.ts';

/** What a statement did, for the summary header. */
export type Counts = Readonly<{
  readRows: number;
  readBytes: number;
  writtenRows: number;
  writtenBytes: number;
}>;

/** A whole answer, or one that is still coming. `format` is the one it is in. */
export type Outcome = Readonly<
  | { kind: 'whole'; format: string; bytes: Uint8Array; counts: Counts }
  | { kind: 'stream'; format: string; stream: ChdbQueryStream }
>;

const defaultFormat = 'TabSeparated';
const nothing: Counts = { readRows: 0, readBytes: 0, writtenRows: 0, writtenBytes: 0 };

/**
 * Formats whose blocks can be sent one after another. Those with names or brackets around the rows
 * cannot: the engine's stream repeats them with every block.
 */
const streamable = new Set([
  'CSV',
  'JSONCompactEachRow',
  'JSONCompactStringsEachRow',
  'JSONEachRow',
  'JSONLines',
  'JSONStringsEachRow',
  'LineAsString',
  'NDJSON',
  'Native',
  'RowBinary',
  'TSV',
  'TSVRaw',
  'TabSeparated',
  'TabSeparatedRaw',
]);

/** Runs one statement in its session. Throws what the engine says. */
export async function run(session: Session, request: StatementRequest): Promise<Outcome> {
  const statement = readStatement(request.sql);
  const fallback = request.format ?? defaultFormat;
  const format = statement.format ?? fallback;
  if (statement.kind === 'insert') return insert(session, request, fallback);
  const sql = withData(request);
  if (statement.kind === 'select' && streamable.has(format) && !request.wholeAnswer) {
    return { kind: 'stream', format, stream: session.queryStream(sql, { format: fallback }) };
  }
  return { ...(await whole(session, sql, fallback)), format };
}

async function insert(
  session: Session,
  request: StatementRequest,
  format: string,
): Promise<Outcome> {
  const fromFile = fileInsert(request.sql);
  if (fromFile !== undefined) return viaFile(session, fromFile, request.data);
  const target = rowInsert(request.sql);
  if (target === undefined) return whole(session, withData(request), format);
  if (request.data.length === 0) {
    return { kind: 'whole', format, bytes: new Uint8Array(), counts: nothing };
  }
  const { columns, ...rest } = target;
  const parameters: RawInsertParams = {
    ...rest,
    values: request.data,
    ...(columns ? { columns } : {}),
  };
  const { rowsWritten, bytesWritten } = await session.insert(parameters);
  const counts = { ...nothing, writtenRows: rowsWritten, writtenBytes: bytesWritten };
  return { kind: 'whole', format, bytes: new Uint8Array(), counts };
}

/**
 * The engine's raw inserts know text formats only: it reads the others from a file, which is gone
 * afterwards.
 */
async function viaFile(
  session: Session,
  { table, columns, format }: FileInsert,
  data: Buffer,
): Promise<Outcome> {
  const directory = await mkdtemp(join(tmpdir(), 'longrein-insert-'));
  const path = join(directory, 'rows');
  try {
    await writeFile(path, data, { mode: 0o600 });
    const names = columns.join(', ');
    const sql = `INSERT INTO ${table} (${names}) SELECT ${names} FROM file('${path}', '${format}')`;
    return await whole(session, sql, defaultFormat);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function whole(session: Session, sql: string, format: string): Promise<Outcome> {
  const result = await session.queryAsync(sql, { format });
  const counts = { ...nothing, readRows: result.rowsRead, readBytes: result.bytesRead };
  return { kind: 'whole', format, bytes: result.bytes(), counts };
}

/** Statement and body are one text to the engine. Throws code 73 for data that is no text. */
function withData(request: StatementRequest): string {
  if (request.data.length === 0) return request.sql;
  if (isUtf8(request.data)) return `${request.sql}\n${request.data.toString('utf8')}`;
  throw exception(
    73,
    'The embedded engine takes rows as text only; insert JSONEachRow, JSONCompactEachRow, CSV or TSV',
  );
}
