import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ClickHouseClient } from '@clickhouse/client';
import { packageRoot } from '../chassis/config/package-root.ts';
import { LongreinError } from '../chassis/errors.ts';

/**
 * Brings the database `longrein` to the schema of this release. Migrations are numbered SQL files;
 * each statement can be run again, so that two programs may migrate at once and a broken run is
 * finished by the next. An applied file never changes: what is wrong in it is put right by a later
 * one.
 */
export type Migration = Readonly<{
  version: number;
  name: string;
  sha256: string;
  statements: readonly string[];
}>;

export type MigrationLogger = Readonly<{ info(fields: object, message: string): void }>;

export type MigrationReport = Readonly<{ version: number; applied: readonly string[] }>;

const migrationTable = `CREATE TABLE IF NOT EXISTS longrein.migrations
(version UInt32, name String, sha256 String, applied_at DateTime64(3, 'UTC') DEFAULT now64(3))
ENGINE = ReplacingMergeTree(applied_at) ORDER BY version`;

/**
 * Applies what is missing, in order. Throws `CLICKHOUSE_SCHEMA_NEWER` if the database was migrated
 * by a newer release, `CLICKHOUSE_MIGRATION_CHANGED` if an applied file was edited.
 */
export async function migrate(
  client: ClickHouseClient,
  logger: MigrationLogger,
  migrations: readonly Migration[] = readMigrations(),
  { replicated = false }: { replicated?: boolean } = {},
): Promise<MigrationReport> {
  const shaped = replicated ? asReplicated : (statement: string): string => statement;
  await client.command({ query: shaped('CREATE DATABASE IF NOT EXISTS longrein') });
  await client.command({ query: shaped(migrationTable) });
  const applied = await appliedHashes(client);
  const newest = Math.max(0, ...migrations.map(({ version }) => version));
  checkApplied(applied, { migrations, newest });
  const missing = migrations.filter(({ version }) => !applied.has(version));
  const views = missing.length === 0 ? new Set<string>() : await viewsThere(client);
  for (const migration of withNewViewsWhole(migrations, missing, views)) {
    await apply(client, { ...migration, statements: migration.statements.map(shaped) });
    logger.info({ migration: migration.name }, 'ClickHouse schema migrated');
  }
  return { version: newest, applied: missing.map(({ name }) => name) };
}

/**
 * The statement for a cluster with Keeper: a replicated database carries it to all replicas, and
 * tables remember the tokens of a week, so that an outage of days repeats nothing.
 */
export const asReplicated = (statement: string): string =>
  statement
    .replace(
      /^CREATE DATABASE IF NOT EXISTS longrein$/,
      `$& ENGINE = Replicated('/clickhouse/databases/longrein', '{shard}', '{replica}')`,
    )
    .replace(/\bENGINE = (Replacing|Aggregating|)MergeTree\b/, 'ENGINE = Replicated$1MergeTree')
    .replace(
      /\bnon_replicated_deduplication_window = (\d+)/,
      'replicated_deduplication_window = $1, replicated_deduplication_window_seconds = 604800',
    );

const viewCreation =
  /^CREATE MATERIALIZED VIEW IF NOT EXISTS (longrein\.\w+) TO longrein\.\w+ AS\b/;
const viewChange = /^ALTER TABLE (longrein\.\w+) MODIFY QUERY\b/;

const viewIn = (statement: string): string | undefined =>
  (viewCreation.exec(statement) ?? viewChange.exec(statement))?.[1];

/**
 * The missing migrations, with views that are not there yet made with their last query at once. The engine names what a view
 * writes otherwise once it was started anew after a change of the view's query: a range that is written again behind a crash
 * would then count twice in what the view keeps.
 */
export function withNewViewsWhole(
  all: readonly Migration[],
  missing: readonly Migration[],
  there: ReadonlySet<string>,
): readonly Migration[] {
  const creations = new Map(
    all.flatMap(({ statements }) =>
      statements.flatMap((one) => {
        const found = viewCreation.exec(one);
        return found === null ? [] : [[String(found[1]), found[0]] as const];
      }),
    ),
  );
  const last = new Map(
    missing.flatMap(({ statements }) => statements.map((one) => [viewIn(one) ?? '', one] as const)),
  );
  const shaped = (statement: string): readonly string[] => {
    const view = viewIn(statement);
    if (view === undefined || there.has(view)) return [statement];
    if (last.get(view) !== statement) return [];
    return [statement.replace(viewChange, () => creations.get(view) ?? '')];
  };
  return missing.map((one) => ({ ...one, statements: one.statements.flatMap(shaped) }));
}

async function viewsThere(client: ClickHouseClient): Promise<ReadonlySet<string>> {
  const query = `SELECT concat('longrein.', name) AS name FROM system.tables
    WHERE database = 'longrein' AND engine = 'MaterializedView'`;
  const answer = await client.query({ query, format: 'JSONEachRow' });
  return new Set((await answer.json<{ name: string }>()).map(({ name }) => name));
}

/** Names of those that were not applied yet. Throws like `migrate`; changes nothing. */
export async function missingMigrations(
  client: ClickHouseClient,
  migrations: readonly Migration[] = readMigrations(),
): Promise<readonly string[]> {
  const query = `SELECT count() AS n FROM system.tables
    WHERE database = 'longrein' AND name = 'migrations'`;
  const answer = await client.query({ query, format: 'JSONEachRow' });
  const [found] = await answer.json<{ n: string }>();
  const applied = Number(found?.n) === 0 ? new Map() : await appliedHashes(client);
  checkApplied(applied, { migrations, newest: migrations.at(-1)?.version ?? 0 });
  return migrations.filter(({ version }) => !applied.has(version)).map(({ name }) => name);
}

/** The migrations of this release, in order. Throws `CLICKHOUSE_MIGRATIONS_MISSING`. */
export function readMigrations(directory: string = migrationDirectory()): readonly Migration[] {
  const files = readdirSync(directory).filter((file) => /^\d{3}_\w+\.sql$/.test(file));
  return files.sort().map((file) => readMigration(directory, file));
}

function readMigration(directory: string, file: string): Migration {
  const text = readFileSync(join(directory, file), 'utf8');
  return {
    version: Number(file.slice(0, 3)),
    name: file.replace('.sql', ''),
    sha256: createHash('sha256').update(text).digest('hex'),
    // A statement ends where a line ends in a semicolon; comments have lines of their own.
    statements: text
      .split(/;[ \t]*(?:\n|$)/)
      .map((statement) => statement.replace(/^--.*$/gm, '').trim())
      .filter((statement) => statement !== ''),
  };
}

/** The SQL files stay with the sources, in the package's root. */
function migrationDirectory(): string {
  const found = join(packageRoot, 'deploy', 'clickhouse', 'migrations');
  if (existsSync(found)) return found;
  const message = `The ClickHouse migrations are not in ${found}`;
  const fix = 'Install the package whole: deploy/clickhouse/migrations belongs to it.';
  throw new LongreinError('CLICKHOUSE_MIGRATIONS_MISSING', message, { fix });
}

async function appliedHashes(client: ClickHouseClient): Promise<ReadonlyMap<number, string>> {
  const query = 'SELECT version, any(sha256) AS sha256 FROM longrein.migrations GROUP BY version';
  const result = await client.query({ query, format: 'JSONEachRow' });
  const rows = await result.json<{ version: number; sha256: string }>();
  return new Map(rows.map(({ version, sha256 }) => [version, sha256]));
}

function checkApplied(
  applied: ReadonlyMap<number, string>,
  known: { migrations: readonly Migration[]; newest: number },
): void {
  const version = Math.max(0, ...applied.keys());
  if (version > known.newest) {
    const message =
      `The ClickHouse schema has version ${version}, ` + `this release knows up to ${known.newest}`;
    const fix = 'Run the newer release, or point this one at another database.';
    throw new LongreinError('CLICKHOUSE_SCHEMA_NEWER', message, { fix });
  }
  for (const migration of known.migrations) {
    const sha256 = applied.get(migration.version);
    if (sha256 === undefined || sha256 === migration.sha256) continue;
    const message = `Migration ${migration.name} was applied to ClickHouse with other contents`;
    const fix = 'Restore the file as it was released, and put changes into a new migration.';
    throw new LongreinError('CLICKHOUSE_MIGRATION_CHANGED', message, { fix });
  }
}

async function apply(client: ClickHouseClient, migration: Migration): Promise<void> {
  for (const query of migration.statements) await client.command({ query });
  const { version, name, sha256 } = migration;
  const values = [{ version, name, sha256 }];
  await client.insert({ table: 'longrein.migrations', values, format: 'JSONEachRow' });
}
