import { createHash } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ClickHouseClient } from '@clickhouse/client';
import { LongreinError, toError } from '../../chassis/errors.ts';
import { type ErasedRows, eraseRows } from '../erasure.ts';
import { type ExportColumn, exportColumns } from './event-columns.ts';
import { asInFiles, writeFileFrom } from './export.ts';
import { withStaged } from './import.ts';
import {
  type ExportFile,
  type Manifest,
  manifestName,
  manifestText,
  parseManifest,
} from './layout.ts';

/**
 * Contents of erased sessions leave Parquet files that an export wrote into a directory. A file is read into a table of its
 * own, its rows are erased there as they are in `longrein.events`, and it is written anew in its place: rows, accounts and
 * hashes stay. Broken off, it goes on where it was: a file is whole before or after, and the manifest follows the files.
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
  directory: string,
  wish: Wish,
): Promise<ErasedExport> {
  const path = join(directory, manifestName);
  let manifest = parseManifest(await readFile(path, 'utf8'), path);
  const known = await exportColumns(client);
  const columns = known.filter(({ name }) => manifest.columns.includes(name));
  // Records of the log itself, and goals as they were published, may stand under no tenant.
  const tenants = new Set([...wish.tenants, '']);
  const files: string[] = [];
  const sessions = new Map<string, number>();
  for (const file of manifest.files.filter(({ tenantId }) => tenants.has(tenantId))) {
    const target = join(directory, file.path);
    const done = await rewritten(client, { target, columns, wish }).catch((thrown: unknown) => {
      throw unreadable(target, thrown);
    });
    for (const one of done.sessions) sessions.set(one, (sessions.get(one) ?? 0) + 1);
    if (done.rows > 0) files.push(target);
    if (done.sha256 === file.sha256) continue;
    manifest = withFile(manifest, { ...file, bytes: done.bytes, sha256: done.sha256 });
    await writeFile(`${path}.part`, manifestText(manifest));
    await rename(`${path}.part`, path);
  }
  return { files, sessions };
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
    target,
    columns,
    wish,
  }: Readonly<{ target: string; columns: readonly ExportColumn[]; wish: Wish }>,
): Promise<Rewritten> {
  const bytes = await readFile(target);
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
    return { rows, sessions, ...(await writeFileFrom(stream, target)) };
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
