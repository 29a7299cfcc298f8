import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PassThrough, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ClickHouseClient } from '@clickhouse/client';
import { athenaTable, type ExportColumn, exportColumns, inFiles } from './event-columns.ts';
import { type ExportFile, type Manifest, manifestName, manifestText, pathOf } from './layout.ts';

export type ExportWish = Readonly<{
  /** A directory, or the https address of a place in a bucket, which ClickHouse itself writes to. */
  to: string;
  /** Of one tenant; undefined: of all. */
  tenantId?: string | undefined;
  /** Days from, without the end, YYYY-MM-DD. */
  fromDay: string;
  toDay: string;
  /** Rows of one file, about. */
  rowsPerFile?: number;
  report(file: ExportFile): void;
}>;

type Piece = Pick<ExportFile, 'tenantId' | 'day' | 'part' | 'parts'>;

/** One file by tenant and day, more where there are many rows; a manifest and a table for Athena. */
export async function exportEvents(client: ClickHouseClient, wish: ExportWish): Promise<Manifest> {
  const columns = await exportColumns(client);
  const isBucket = /^https?:\/\//.test(wish.to);
  const files: ExportFile[] = [];
  for (const piece of await piecesOf(client, wish)) {
    // Few sessions: no hash falls into this part.
    if (piece.parts > 1 && (await countRows(client, piece)) === 0) continue;
    const file = isBucket
      ? await toBucket(client, { piece, columns, wish })
      : await toDirectory(client, { piece, columns, wish });
    wish.report(file);
    files.push(file);
  }
  const names = columns.map(({ name }) => name);
  const manifest: Manifest = { format: 'longrein-events', version: 1, columns: names, files };
  if (!isBucket) {
    await mkdir(wish.to, { recursive: true });
    await writeFile(join(wish.to, manifestName), manifestText(manifest));
    await writeFile(join(wish.to, 'athena.sql'), athenaTable(columns, 's3://BUCKET/PATH/'));
  }
  return manifest;
}

async function piecesOf(client: ClickHouseClient, wish: ExportWish): Promise<readonly Piece[]> {
  const { tenantId, fromDay, toDay, rowsPerFile = 200_000 } = wish;
  const query = `SELECT tenant_id AS tenantId, toString(toDate(at)) AS day, count() AS rows
    FROM longrein.events
    WHERE at >= {fromDay:Date} AND at < {toDay:Date}
      AND ({all:UInt8} OR tenant_id = {tenant:String})
    GROUP BY tenantId, day ORDER BY tenantId, day`;
  const query_params = {
    ...{ fromDay, toDay },
    ...{ all: tenantId === undefined ? 1 : 0, tenant: tenantId ?? '' },
  };
  const answer = await client.query({ query, query_params, format: 'JSONEachRow' });
  const days = await answer.json<{ tenantId: string; day: string; rows: string }>();
  return days.flatMap(({ tenantId: tenant, day, rows }) => {
    const parts = Math.max(1, Math.ceil(Number(rows) / rowsPerFile));
    return Array.from({ length: parts }, (_, part) => ({ tenantId: tenant, day, part, parts }));
  });
}

/** Rows of a piece: the key of the table, so that no payload is sorted. */
export const pieceWhere = `tenant_id = {tenantId:String}
  AND at >= {day:Date} AND at < {day:Date} + INTERVAL 1 DAY
  AND cityHash64(session_id) % {parts:UInt32} = {part:UInt32}`;

const selectOf = (columns: readonly ExportColumn[], from: string): string =>
  `SELECT ${inFiles(columns)
    .map(({ name, expression }) => `${expression} AS ${name}_`)
    .join(', ')}
  FROM ${from}
  ORDER BY session_id, k_topic, k_partition, k_offset, event_index`;

/** The names that the columns are to have; in the inner statement they would hide the columns. */
export const asInFiles = (columns: readonly ExportColumn[], from: string): string =>
  `SELECT ${inFiles(columns)
    .map(({ name }) => `${name}_ AS ${name}`)
    .join(', ')} FROM (${selectOf(columns, from)})`;

const renamed = (columns: readonly ExportColumn[]): string =>
  asInFiles(columns, `longrein.events WHERE ${pieceWhere}`);

type Writing = Readonly<{ piece: Piece; columns: readonly ExportColumn[]; wish: ExportWish }>;

async function toDirectory(
  client: ClickHouseClient,
  { piece, columns, wish }: Writing,
): Promise<ExportFile> {
  const path = pathOf(piece);
  const target = join(wish.to, path);
  await mkdir(dirname(target), { recursive: true });
  const query = `${renamed(columns)} FORMAT Parquet`;
  const { stream } = await client.exec({ query, query_params: piece });
  const written = await writeFileFrom(stream, target);
  const rows = await countRows(client, piece);
  return { path, ...piece, rows, ...written };
}

/** Puts the stream in place of the file, whole or not at all. Throws what the stream and the disk throw. */
export async function writeFileFrom(
  stream: Readable,
  target: string,
): Promise<Pick<ExportFile, 'bytes' | 'sha256'>> {
  const hash = createHash('sha256');
  let bytes = 0;
  const counted = new PassThrough();
  counted.on('data', (chunk: Buffer) => {
    hash.update(chunk);
    bytes += chunk.length;
  });
  await pipeline(stream, counted, createWriteStream(`${target}.part`));
  await rename(`${target}.part`, target);
  return { bytes, sha256: hash.digest('hex') };
}

/** ClickHouse writes to the bucket, with the rights that it has there. */
async function toBucket(
  client: ClickHouseClient,
  { piece, columns, wish }: Writing,
): Promise<ExportFile> {
  const path = pathOf(piece);
  const url = `${wish.to.replace(/\/+$/, '')}/${path.replaceAll('%', '%25')}`;
  const query = `INSERT INTO FUNCTION s3({url:String}, 'Parquet') ${renamed(columns)}
    SETTINGS s3_truncate_on_insert = 1`;
  await client.command({ query, query_params: { ...piece, url } });
  return { path, ...piece, rows: await countRows(client, piece), bytes: 0, sha256: '' };
}

export async function countRows(client: ClickHouseClient, piece: Piece): Promise<number> {
  const query = `SELECT toString(count()) AS n FROM longrein.events WHERE ${pieceWhere}`;
  const answer = await client.query({ query, query_params: piece, format: 'JSONEachRow' });
  const [found] = await answer.json<{ n: string }>();
  return Number(found?.n ?? 0);
}
