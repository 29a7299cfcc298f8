import type { ClickHouseClient } from '@clickhouse/client';
import { type Masks, maskOf } from '../chassis/telemetry/masks.ts';
import { columnNames } from './columns.ts';

/**
 * Contents for people who must not see personal data: a view with the masks in it. It reads with the rights of who made it,
 * and the role of analysts loses the columns that hold contents as they are: on a server by the statements here, in the
 * embedded engine by a role of its own, which they get as soon as the view is there.
 */

const literal = (text: string): string =>
  `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

const word = /[^A-Za-z0-9_]/g;

/** The body as JSON text, with every mask over it. */
function maskedBody({ patterns, fields }: Masks): string {
  const names = fields.map((field) => field.replace(word, (sign) => `\\${sign}`)).join('|');
  const member = `(?i)"(${names})"\\s*:\\s*("(?:\\\\.|[^"\\\\])*"|[^,}\\]]+)`;
  const first = `JSONExtractRaw(part.2, 'body')`;
  const fielded =
    fields.length === 0
      ? first
      : `replaceRegexpAll(${first}, ${literal(member)}, ${literal('"\\1":"[masked]"')})`;
  return patterns.reduce(
    (text, [rule, source]) =>
      `replaceRegexpAll(${text}, ${literal(source)}, ${literal(maskOf(rule))})`,
    fielded,
  );
}

/** Makes or changes the view `longrein.contents_masked`. */
export const maskedViewStatement = (masks: Masks, withRights: boolean): string =>
  `CREATE OR REPLACE VIEW longrein.contents_masked ${withRights ? 'DEFINER = CURRENT_USER SQL SECURITY DEFINER ' : ''}AS
SELECT tenant_id, session_id, at, type, record_id, event_index, part.1 AS name,
  JSONExtractString(part.2, 'mediaType') AS media_type,
  JSONExtractUInt(part.2, 'bytes') AS bytes,
  JSONExtractString(part.2, 'digest') AS digest,
  JSONHas(part.2, 'sealed') AS sealed,
  ${maskedBody(masks)} AS text
FROM longrein.events ARRAY JOIN JSONExtractKeysAndValuesRaw(content) AS part`;

const hidden: ReadonlySet<string> = new Set(['content', 'record']);

/** What a role of analysts may read then, on a server. `columns`: of longrein.events, all of them. */
export function maskedRights(role: string, columns: readonly string[]): readonly string[] {
  const open = columns.filter((one) => !hidden.has(one)).join(', ');
  return [
    `REVOKE SELECT ON longrein.events FROM ${role}`,
    `GRANT SELECT(${open}) ON longrein.events TO ${role}`,
    `GRANT SELECT ON longrein.contents_masked TO ${role}`,
  ];
}

/** Whether this is the embedded engine, in which nobody can change roles and none need be. Throws what the client throws. */
export async function rightsAreBuiltIn(client: ClickHouseClient): Promise<boolean> {
  const query = `SELECT has(currentRoles(), 'longrein_owner') AS built_in`;
  const answer = await client.query({ query, format: 'JSONEachRow' });
  const [row] = await answer.json<{ built_in: number }>();
  return row?.built_in === 1;
}

/** Everything that makes contents masked, for one role of a server or for the analysts of the embedded engine. */
export function maskStatements(
  masks: Masks,
  role: string | undefined,
  builtIn = false,
): readonly string[] {
  const view = maskedViewStatement(masks, builtIn || role !== undefined);
  if (builtIn || role === undefined) return [view];
  return [view, ...maskedRights(role, [...columnNames, 'ingested_at'])];
}
