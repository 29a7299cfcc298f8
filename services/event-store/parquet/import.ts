import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { ClickHouseClient } from '@clickhouse/client';
import { LongreinError } from '../../chassis/errors.ts';
import { countRows } from './export.ts';
import { broken, type ExportFile, type Manifest, manifestName, parseManifest } from './layout.ts';
import { type ExportPlace, fullName, readWhole } from './place.ts';

export type ImportDone = Readonly<{ written: number; there: number; rows: number }>;

/**
 * Writes an export back, file by file; what is there already is left alone. Throws EXPORT_BROKEN
 * and names the file, EXPORT_OVERLAPS where some of a file's rows are there and others are not,
 * EXPORT_NEWER for columns that this schema does not have.
 */
export async function importEvents(
  client: ClickHouseClient,
  from: ExportPlace,
  report: (file: ExportFile, state: 'written' | 'there') => void,
): Promise<ImportDone> {
  const manifest = await readManifest(from);
  await checkColumns(client, manifest);
  // Nothing is written where anything is broken.
  for (const file of manifest.files) await checkFile(from, file);
  const done = { written: 0, there: 0, rows: 0 };
  for (const file of manifest.files) {
    const there = await countRows(client, file);
    if (there > 0 && there !== file.rows) throw overlaps(file, there);
    if (there === 0) {
      await write(client, from, { file, columns: manifest.columns });
      done.written += 1;
      done.rows += file.rows;
    } else done.there += 1;
    report(file, there === 0 ? 'written' : 'there');
  }
  return done;
}

async function readManifest(from: ExportPlace): Promise<Manifest> {
  const name = fullName(from, manifestName);
  const bytes = await readWhole(from, manifestName);
  if (bytes === undefined)
    throw broken(`${name} is not there: this is no export, or not all of it`);
  return parseManifest(bytes.toString(), name);
}

async function checkColumns(client: ClickHouseClient, { columns }: Manifest): Promise<void> {
  const query = `SELECT name FROM system.columns WHERE database = 'longrein' AND table = 'events'`;
  const answer = await client.query({ query, format: 'JSONEachRow' });
  const known = new Set((await answer.json<{ name: string }>()).map(({ name }) => name));
  const strange = columns.find((name) => !known.has(name));
  if (strange === undefined) return;
  const message = `The export has a column "${strange}", which this schema has not`;
  throw new LongreinError('EXPORT_NEWER', message, { fix: 'Import it with the newer release.' });
}

async function checkFile(from: ExportPlace, { path, sha256 }: ExportFile): Promise<void> {
  const hash = createHash('sha256');
  const stream = await from.open(path);
  if (stream === undefined) throw broken(`${path} is not there`);
  try {
    for await (const chunk of stream) hash.update(chunk as Buffer);
  } catch (cause) {
    throw broken(`${path} cannot be read`, cause);
  }
  if (hash.digest('hex') !== sha256)
    throw broken(`${path} is not what was exported: its hash differs`);
}

function overlaps({ tenantId, day, rows }: ExportFile, there: number): LongreinError {
  const message = `Of ${rows} rows of tenant "${tenantId}" on ${day}, ${there} are there already`;
  const fix =
    'Rows are added by whole days only: import into an empty database, or let `longrein events backfill` fill the gap.';
  return new LongreinError('EXPORT_OVERLAPS', message, { fix });
}

async function write(
  client: ClickHouseClient,
  from: ExportPlace,
  { file, columns }: { file: ExportFile; columns: readonly string[] },
): Promise<void> {
  const bytes = await readWhole(from, file.path);
  if (bytes === undefined) throw broken(`${file.path} is not there any more`);
  await withStaged(client, { bytes, columns }, async (staging, inFile) => {
    await client.command({
      query: `INSERT INTO longrein.events (tenant_id, ${inFile.join(', ')})
        SELECT {tenantId:String}, ${inFile.join(', ')} FROM ${staging}`,
      query_params: file,
      // One block, so that a file is there whole or not at all.
      clickhouse_settings: {
        ...{ async_insert: 0, max_block_size: '1000000', max_insert_threads: '1' },
        ...{ min_insert_block_size_rows: '1000000', min_insert_block_size_bytes: '0' },
      },
    });
  });
}

/** Analysts have rights in `longrein`; what is read in here may be what they must not see. */
const stagingDatabase = 'longrein_staging';

/**
 * Works on the rows of a file in a table of their own, which is gone afterwards. The tenant stands in the path of the file
 * and is not among the columns. Throws what the client throws.
 */
export async function withStaged<T>(
  client: ClickHouseClient,
  { bytes, columns }: Readonly<{ bytes: Buffer; columns: readonly string[] }>,
  work: (staging: string, inFile: readonly string[]) => Promise<T>,
): Promise<T> {
  const inFile = columns.filter((name) => name !== 'tenant_id');
  const name = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
  const staging = `${stagingDatabase}.import_${name}`;
  await client.command({ query: `CREATE DATABASE IF NOT EXISTS ${stagingDatabase}` });
  await client.command({ query: `DROP TABLE IF EXISTS ${staging}` });
  await client.command({
    query: `CREATE TABLE ${staging} ENGINE = MergeTree ORDER BY (session_id, k_offset, event_index)
      AS SELECT ${inFile.join(', ')} FROM longrein.events WHERE 0`,
  });
  try {
    const { stream } = await client.exec({
      query: `INSERT INTO ${staging} (${inFile.join(', ')}) FORMAT Parquet`,
      values: Readable.from([bytes], { objectMode: false }),
    });
    for await (const _ of stream);
    return await work(staging, inFile);
  } finally {
    await client.command({ query: `DROP TABLE IF EXISTS ${staging}` });
  }
}
