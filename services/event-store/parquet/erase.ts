import { createHash } from 'node:crypto';
import type { ClickHouseClient } from '@clickhouse/client';
import { LongreinError, toError } from '../../chassis/errors.ts';
import { type ErasedRows, eraseRows } from '../erasure.ts';
import { type ExportColumn, exportColumns } from './event-columns.ts';
import { asInFiles } from './export.ts';
import { withStaged } from './import.ts';
import {
  type ExportFile,
  folderOf,
  type Manifest,
  manifestName,
  manifestText,
  parseManifest,
} from './layout.ts';
import { type ExportPlace, fullName, readWhole, writeText } from './place.ts';

/**
 * Contents of erased sessions leave Parquet files that an export wrote. A file is read into a table of its own, its rows are
 * erased there as they are in `longrein.events`, and it is written anew in its place: rows, accounts and hashes stay. Broken
 * off, it goes on where it was: a file is whole before or after, and the manifest follows the files. A bucket that keeps
 * versions forgets the older ones of the tenants' files at the end: nobody else would look into what they hold.
 */
export type ErasedExport = Readonly<{
  /** Files that were written anew. */
  files: readonly string[];
  /** Session of a row -> in how many files it had contents. */
  sessions: ReadonlyMap<string, number>;
}>;

type Wish = ErasedRows & Readonly<{ /** Whose files are looked at. */ tenants: readonly string[] }>;

/** Throws EXPORTS_UNREADABLE, which names the file, and what the client throws. */
export async function eraseExport(
  client: ClickHouseClient,
  place: ExportPlace,
  wish: Wish,
): Promise<ErasedExport> {
  let manifest = await manifestOf(place);
  const known = await exportColumns(client);
  const columns = known.filter(({ name }) => manifest.columns.includes(name));
  // Records of the log itself, and goals as they were published, may stand under no tenant.
  const tenants = new Set([...wish.tenants, '']);
  const files: string[] = [];
  const sessions = new Map<string, number>();
  for (const file of manifest.files.filter(({ tenantId }) => tenants.has(tenantId))) {
    const done = await rewritten(client, { place, path: file.path, columns, wish }).catch(
      (thrown: unknown) => {
        throw unreadable(fullName(place, file.path), thrown);
      },
    );
    for (const one of done.sessions) sessions.set(one, (sessions.get(one) ?? 0) + 1);
    if (done.rows > 0) files.push(fullName(place, file.path));
    if (done.sha256 === file.sha256) continue;
    manifest = withFile(manifest, { ...file, bytes: done.bytes, sha256: done.sha256 });
    await writeText(place, manifestName, manifestText(manifest));
  }
  await place.forgetOlder([...tenants].map(folderOf)).catch((thrown: unknown) => {
    throw unreadable(`older versions below ${place.name}`, thrown);
  });
  return { files, sessions };
}

async function manifestOf(place: ExportPlace): Promise<Manifest> {
  const name = fullName(place, manifestName);
  const bytes = await readWhole(place, manifestName);
  if (bytes === undefined) throw unreadable(name, new Error('it is not there'));
  return parseManifest(bytes.toString(), name);
}

const withFile = (manifest: Manifest, file: ExportFile): Manifest => ({
  ...manifest,
  files: manifest.files.map((one) => (one.path === file.path ? file : one)),
});

type Rewritten = Pick<ExportFile, 'bytes' | 'sha256'> &
  Readonly<{ rows: number; sessions: readonly string[] }>;

async function rewritten(
  client: ClickHouseClient,
  {
    place,
    path,
    columns,
    wish,
  }: Readonly<{ place: ExportPlace; path: string; columns: readonly ExportColumn[]; wish: Wish }>,
): Promise<Rewritten> {
  const bytes = await readWhole(place, path);
  if (bytes === undefined) throw new Error('it is not there');
  const names = columns.map(({ name }) => name);
  return await withStaged(client, { bytes, columns: names }, async (staging) => {
    const found: string[] = [];
    const rows = await eraseRows(client, wish, { table: staging, found });
    const sessions = [...new Set(found)];
    if (rows === 0) {
      // As it was, or as an erasure left it that did not get as far as the manifest.
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      return { rows, sessions, bytes: bytes.length, sha256 };
    }
    const { stream } = await client.exec({
      query: `${asInFiles(columns, staging)} FORMAT Parquet`,
    });
    return { rows, sessions, ...(await place.write(path, stream)) };
  });
}

const unreadable = (path: string, thrown: unknown): LongreinError =>
  new LongreinError(
    'EXPORTS_UNREADABLE',
    `${path} cannot be written anew: ${toError(thrown).message}`,
    {
      fix: 'remove it, or put the file of the export in its place, then erase again: it goes on where it was',
      cause: thrown,
    },
  );
