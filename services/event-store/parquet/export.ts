import type { ClickHouseClient } from '@clickhouse/client';
import { athenaTable, type ExportColumn, exportColumns, inFiles } from './event-columns.ts';
import {
  type ExportFile,
  type Manifest,
  manifestName,
  manifestText,
  parseManifest,
  pathOf,
} from './layout.ts';
import { type ExportPlace, fullName, readWhole, writeText } from './place.ts';

export type ExportWish = Readonly<{
  to: ExportPlace;
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

/**
 * One file by tenant and day, more where there are many rows; a manifest and a table for Athena. What an earlier export left
 * of other days and tenants stays, and stays in the manifest. Returns what was written now. Throws EXPORT_BROKEN where the
 * manifest that lies there is none of ours.
 */
export async function exportEvents(client: ClickHouseClient, wish: ExportWish): Promise<Manifest> {
  const columns = await exportColumns(client);
  const before = await manifestIn(wish.to);
  const files: ExportFile[] = [];
  for (const piece of await piecesOf(client, wish)) {
    // Few sessions: no hash falls into this part.
    if (piece.parts > 1 && (await countRows(client, piece)) === 0) continue;
    const file = await writePiece(client, { piece, columns, to: wish.to });
    wish.report(file);
    files.push(file);
  }
  const names = columns.map(({ name }) => name);
  const manifest: Manifest = { format: 'longrein-events', version: 1, columns: names, files };
  await conclude(wish.to, before, { manifest, columns });
  return manifest;
}

const dayOf = ({ tenantId, day }: ExportFile): string => JSON.stringify([tenantId, day]);

async function manifestIn(place: ExportPlace): Promise<Manifest | undefined> {
  const bytes = await readWhole(place, manifestName);
  return bytes === undefined
    ? undefined
    : parseManifest(bytes.toString(), fullName(place, manifestName));
}

/** The manifest of all that lies there; files of the same days that this export has not written again go. */
async function conclude(
  to: ExportPlace,
  before: Manifest | undefined,
  { manifest, columns }: Readonly<{ manifest: Manifest; columns: readonly ExportColumn[] }>,
): Promise<void> {
  const days = new Set(manifest.files.map(dayOf));
  const paths = new Set(manifest.files.map(({ path }) => path));
  const [stale, kept] = [true, false].map((again) =>
    (before?.files ?? []).filter(
      (file) => days.has(dayOf(file)) === again && !paths.has(file.path),
    ),
  ) as [ExportFile[], ExportFile[]];
  const older = (before?.columns ?? []).filter((name) => !manifest.columns.includes(name));
  const whole = {
    ...manifest,
    columns: [...manifest.columns, ...older],
    files: [...kept, ...manifest.files].sort((one, other) => (one.path < other.path ? -1 : 1)),
  };
  await writeText(to, manifestName, manifestText(whole));
  const location = to.name.startsWith('s3://') ? `${to.name}/` : 's3://BUCKET/PATH/';
  await writeText(to, 'athena.sql', athenaTable(columns, location));
  // Athena would read them beside the new ones.
  for (const { path } of stale) await to.remove(path);
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

type Writing = Readonly<{ piece: Piece; columns: readonly ExportColumn[]; to: ExportPlace }>;

async function writePiece(
  client: ClickHouseClient,
  { piece, columns, to }: Writing,
): Promise<ExportFile> {
  const path = pathOf(piece);
  const query = `${renamed(columns)} FORMAT Parquet`;
  const { stream } = await client.exec({ query, query_params: piece });
  const written = await to.write(path, stream);
  return { path, ...piece, rows: await countRows(client, piece), ...written };
}

export async function countRows(client: ClickHouseClient, piece: Piece): Promise<number> {
  const query = `SELECT toString(count()) AS n FROM longrein.events WHERE ${pieceWhere}`;
  const answer = await client.query({ query, query_params: piece, format: 'JSONEachRow' });
  const [found] = await answer.json<{ n: string }>();
  return Number(found?.n ?? 0);
}
