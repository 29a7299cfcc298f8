import { type Masks, maskOf } from '../chassis/telemetry/masks.ts';

/**
 * Contents for people who must not see personal data: a view with the masks in it. On a server it reads with the rights of
 * who made it, and the role loses the columns that hold contents as they are.
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
