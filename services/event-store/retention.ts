import type { ClickHouseClient } from '@clickhouse/client';
import { z } from 'zod';
import { LongreinError } from '../chassis/errors.ts';

/**
 * How long rows are kept, by class and tenant. `events` are the rows with content, `details` the
 * thin tables that lists and most questions read, `rollups` the sums per hour.
 */
export const retentionClasses = ['events', 'details', 'rollups'] as const;
export type RetentionClass = (typeof retentionClasses)[number];

const days = z
  .string()
  .regex(/^[1-9]\d{0,4}d$/, 'must be days, such as 400d')
  .transform((text) => Number(text.slice(0, -1)))
  // ClickHouse's DateTime ends in 2106 and begins anew: what is kept for longer would go at once.
  .refine((number) => number <= 20_000, 'must not be more than 20000d; leave the rule out');
const rule = z.strictObject({
  class: z.enum(retentionClasses),
  tenant: z.string().min(1).optional(),
  /** Rows are deleted after so long. */
  keep: days.optional(),
  /** Parts move to the volume `cold` after so long: an S3 disk or a slow one. */
  cold: days.optional(),
});
const rules = z.strictObject({ rules: z.array(rule).min(1) });

export type RetentionRule = Readonly<z.infer<typeof rule>>;

/** Throws RETENTION_INVALID and names the member. */
export function parseRetention(value: unknown): readonly RetentionRule[] {
  const parsed = rules.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw invalid(`${issue?.path.join('.') || 'the file'}: ${issue?.message}`);
  }
  const all = parsed.data.rules;
  const seen = new Set<string>();
  for (const { class: name, tenant, keep, cold } of all) {
    const key = `${name}/${tenant ?? ''}`;
    if (seen.has(key)) throw invalid(`two rules for ${name}${tenant ? ` of ${tenant}` : ''}`);
    seen.add(key);
    if (tenant !== undefined && cold !== undefined)
      throw invalid(`cold of tenant ${tenant}: parts hold rows of all tenants, only all can move`);
    if (keep !== undefined && cold !== undefined && cold >= keep)
      throw invalid(`${name}: cold (${cold}d) is not before keep (${keep}d)`);
    if (keep === undefined && cold === undefined) throw invalid(`${name}: neither keep nor cold`);
  }
  return all;
}

const invalid = (message: string): LongreinError =>
  new LongreinError('RETENTION_INVALID', message, {
    fix: 'Write rules such as {class: events, keep: 400d, cold: 30d} or {class: events, tenant: acme, keep: 90d}.',
  });

type Aged = Readonly<{ name: string; age: string }>;

/** The tables of each class, and when a row of them is from. */
const tables: Readonly<Record<RetentionClass, readonly Aged[]>> = {
  events: [{ name: 'events', age: 'toDateTime(at)' }],
  details: [
    { name: 'calls_thin', age: 'toDateTime(at)' },
    { name: 'sessions_thin', age: 'toDateTime(last_at)' },
    { name: 'tasks_thin', age: `toDateTime(ifNull(scheduled_at, toDateTime64('2099-01-01', 3)))` },
  ],
  rollups: [{ name: 'costs_hourly', age: 'hour' }],
};

/** Statements that bring the tables to these rules; a class without rules keeps all. */
export function retentionStatements(all: readonly RetentionRule[]): readonly string[] {
  return retentionClasses.flatMap((name) => {
    const own = all.filter((one) => one.class === name);
    return tables[name].flatMap((table) => statementsFor(table, own));
  });
}

function statementsFor({ name, age }: Aged, own: readonly RetentionRule[]): string[] {
  const table = `longrein.${name}`;
  if (own.length === 0) return [`ALTER TABLE ${table} REMOVE TTL`];
  const tenants = own.flatMap(({ tenant, keep }) => (tenant && keep ? [{ tenant, keep }] : []));
  const general = own.find(({ tenant }) => tenant === undefined);
  const after = (keep: number): string => `${age} + INTERVAL ${keep} DAY`;
  const list = tenants.map(({ tenant }) => text(tenant)).join(', ');
  const others = tenants.length === 0 ? '' : ` WHERE tenant_id NOT IN (${list})`;
  const clauses = [
    ...(general?.cold === undefined ? [] : [`${after(general.cold)} TO VOLUME 'cold'`]),
    ...(general?.keep === undefined ? [] : [`${after(general.keep)} DELETE${others}`]),
    ...tenants.map(({ tenant, keep }) => `${after(keep)} DELETE WHERE tenant_id = ${text(tenant)}`),
  ];
  // Parts hold rows of several tenants: dropping only whole parts would keep the shorter-lived.
  const whole = tenants.length === 0 ? 1 : 0;
  return [
    `ALTER TABLE ${table} MODIFY SETTING ttl_only_drop_parts = ${whole}`,
    `ALTER TABLE ${table} MODIFY TTL ${clauses.join(', ')}`,
  ];
}

const removal = /^ALTER TABLE longrein\.(\w+) REMOVE TTL$/;

/** Brings the tables to these rules. A rule is taken from tables that have one: from others ClickHouse refuses to. */
export async function applyRetention(
  client: ClickHouseClient,
  statements: readonly string[],
): Promise<void> {
  const query = `SELECT name FROM system.tables
    WHERE database = 'longrein' AND position(engine_full, ' TTL ') > 0`;
  const answer = await client.query({ query, format: 'JSONEachRow' });
  const ruled = new Set((await answer.json<{ name: string }>()).map(({ name }) => name));
  for (const statement of statements) {
    const [, table] = removal.exec(statement) ?? [];
    if (table === undefined || ruled.has(table)) await client.command({ query: statement });
  }
}

const text = (value: string): string =>
  `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
