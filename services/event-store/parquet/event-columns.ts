import type { ClickHouseClient } from '@clickhouse/client';

/** One column of `longrein.events` on its way into a Parquet file. */
export type ExportColumn = Readonly<{
  name: string;
  /** The expression that is written: Parquet readers such as Athena know no unsigned numbers. */
  expression: string;
  /** Its type in a Hive or Athena table. */
  hive: string;
}>;

/** All columns, in the order of the table. */
export async function exportColumns(client: ClickHouseClient): Promise<readonly ExportColumn[]> {
  const query = `SELECT name, type FROM system.columns
    WHERE database = 'longrein' AND table = 'events' ORDER BY position`;
  const answer = await client.query({ query, format: 'JSONEachRow' });
  const rows = await answer.json<{ name: string; type: string }>();
  return rows.map(({ name, type }) => columnOf(name, type));
}

export function columnOf(name: string, type: string): ExportColumn {
  if (/^UInt(8|16)$/.test(type)) return { name, expression: `toInt32(${name})`, hive: 'int' };
  if (/^UInt(32|64)$/.test(type)) return { name, expression: `toInt64(${name})`, hive: 'bigint' };
  if (type.startsWith('DateTime64')) return { name, expression: name, hive: 'timestamp' };
  if (type.startsWith('Map')) {
    return {
      ...{ name, hive: 'map<string,string>' },
      expression: `CAST(${name} AS Map(String, String))`,
    };
  }
  if (type.startsWith('Array')) return { name, expression: name, hive: 'array<string>' };
  return { name, expression: `toString(${name})`, hive: 'string' };
}

/** Partition columns stand in the path and would be there twice. */
export const inFiles = (columns: readonly ExportColumn[]): readonly ExportColumn[] =>
  columns.filter(({ name }) => name !== 'tenant_id');

/** A table over the files for Athena or Hive. `location` is where they lie, such as s3://bucket/path/. */
export function athenaTable(columns: readonly ExportColumn[], location: string): string {
  const lines = inFiles(columns).map(({ name, hive }) => `  \`${name}\` ${hive}`);
  return `-- Events of Longrein as Parquet, by tenant and day. Put your bucket in place of the location, then
-- run both statements; the second one again after each export.
CREATE EXTERNAL TABLE IF NOT EXISTS longrein_events (
${lines.join(',\n')}
)
PARTITIONED BY (\`tenant_id\` string, \`dt\` string)
STORED AS PARQUET
LOCATION '${location}';

MSCK REPAIR TABLE longrein_events;
`;
}
