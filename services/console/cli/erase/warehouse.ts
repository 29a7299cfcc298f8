/** Parquet files that `longrein events export` wrote into directories and buckets under our control. */
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ClickHouseClient } from '@clickhouse/client';
import { keyOwnerOf } from '../../../chassis/content/content-keys.ts';
import { LongreinError } from '../../../chassis/errors.ts';
import { goalLogId } from '../../../chassis/protocol/ids.ts';
import type { BucketAddress } from '../../../event-store/bucket/address.ts';
import { keysOf } from '../../../event-store/bucket/objects.ts';
import { bucketPlace } from '../../../event-store/bucket/place.ts';
import { eraseExport } from '../../../event-store/parquet/erase.ts';
import { manifestName, parseManifest } from '../../../event-store/parquet/layout.ts';
import {
  directoryPlace,
  type ExportPlace,
  fullName,
  readWhole,
} from '../../../event-store/parquet/place.ts';
import type { FoundSession } from './survey.ts';
import { entriesBelow, isMissing } from './tree.ts';

export type FoundExports = Readonly<{
  /** Directories with a manifest of ours, and places in buckets with one. */
  exports: readonly ExportPlace[];
  /** Parquet files that no whole manifest of ours names: not looked into. */
  strange: readonly string[];
}>;

/** The files that a manifest of ours names; undefined for one of others or a broken one: its files are strange then. */
async function manifestFiles(path: string): Promise<readonly string[] | undefined> {
  try {
    const text = await readFile(path, 'utf8');
    return parseManifest(text, path).files.map((file) => join(dirname(path), file.path));
  } catch (thrown) {
    if (thrown instanceof LongreinError && thrown.code === 'EXPORT_BROKEN') return undefined;
    if (isMissing(thrown)) return undefined;
    throw thrown;
  }
}

/** What of Parquet lies in these directories. Throws what reading throws. */
export async function exportsOfRows(places: readonly string[]): Promise<FoundExports> {
  const directories: string[] = [];
  const parquet = new Set<string>();
  const named = new Set<string>();
  for (const place of places) {
    for (const entry of await entriesBelow(place)) {
      const path = join(entry.parentPath, entry.name);
      if (entry.name.endsWith('.parquet')) parquet.add(path);
      if (entry.name !== manifestName) continue;
      const files = await manifestFiles(path);
      if (files === undefined) continue;
      directories.push(dirname(path));
      for (const file of files) named.add(file);
    }
  }
  const strange = [...parquet].filter((path) => !named.has(path));
  return { exports: directories.map(directoryPlace), strange };
}

/** The same of places in buckets; a manifest stands at the place itself. Throws BUCKET_REFUSED, BUCKET_UNREACHABLE. */
export async function exportsInBuckets(addresses: readonly BucketAddress[]): Promise<FoundExports> {
  const exports: ExportPlace[] = [];
  const strange: string[] = [];
  for (const address of addresses) {
    const place = bucketPlace(address);
    const named = await filesNamedIn(place);
    if (named !== undefined) exports.push(place);
    for (const key of await keysOf(address))
      if (key.endsWith('.parquet') && named?.has(key) !== true) strange.push(fullName(place, key));
  }
  return { exports, strange };
}

async function filesNamedIn(place: ExportPlace): Promise<ReadonlySet<string> | undefined> {
  const bytes = await readWhole(place, manifestName);
  if (bytes === undefined) return undefined;
  try {
    const { files } = parseManifest(bytes.toString(), fullName(place, manifestName));
    return new Set(files.map(({ path }) => path));
  } catch (thrown) {
    if (thrown instanceof LongreinError && thrown.code === 'EXPORT_BROKEN') return undefined;
    throw thrown;
  }
}

/** Erases these sessions there. Session -> in how many files it had contents. Throws EXPORTS_UNREADABLE. */
export async function eraseExports(
  client: ClickHouseClient,
  places: readonly ExportPlace[],
  sessions: readonly FoundSession[],
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  const wish = {
    tenants: sessions.map(({ tenant }) => tenant),
    sessions: sessions.flatMap(({ session }) => [session, goalLogId(session)]),
    places: sessions.flatMap(({ logs }) => logs.flatMap(({ origins }) => origins)),
  };
  for (const place of places) {
    const done = await eraseExport(client, place, wish);
    // A session and its goal's log are one; both may be in one file, which is counted for it once.
    const owners = new Map<string, number>();
    for (const [session, files] of done.sessions) {
      const owner = keyOwnerOf(session);
      owners.set(owner, Math.max(owners.get(owner) ?? 0, files));
    }
    for (const [owner, files] of owners) counts.set(owner, (counts.get(owner) ?? 0) + files);
  }
  return counts;
}
