/** Sessions of which the log holds nothing any more: they have ended, and rows or keys of them may be left. */
import type { ClickHouseClient } from '@clickhouse/client';
import { type ContentKeys, keyOwnerOf } from '../../../chassis/content/content-keys.ts';
import { goalLogId } from '../../../chassis/protocol/ids.ts';
import type { FoundSession, Wanted } from './survey.ts';

type Places = Readonly<{
  keys: ContentKeys;
  clickhouse: ClickHouseClient | undefined;
  surveyed: ReadonlyMap<string, FoundSession>;
}>;

type Named = Readonly<{ session: string; tenant: string }>;

async function inRows(client: ClickHouseClient, wanted: Wanted): Promise<readonly Named[]> {
  const isOne = 'session' in wanted;
  const where = isOne
    ? 'session_id IN ({session:String}, {goal:String})'
    : "tenant_id = {tenant:String} AND match(session_id, '^(goal_)?ses_')";
  const query = `SELECT DISTINCT session_id AS session, tenant_id AS tenant
    FROM longrein.events WHERE ${where} AND tenant_id != ''`;
  const query_params = isOne ? { ...wanted, goal: goalLogId(wanted.session) } : wanted;
  const answer = await client.query({ query, query_params, format: 'JSONEachRow' });
  return await answer.json<Named>();
}

function inKeys(keys: ContentKeys, wanted: Wanted): readonly Named[] {
  if ('tenant' in wanted)
    return keys.sessionsOf(wanted.tenant).map((session) => ({ session, tenant: wanted.tenant }));
  const { session } = wanted;
  return keys.knows(session) ? [{ session, tenant: keys.erasureOf(session)?.tenant ?? '' }] : [];
}

/** Those that the survey of the log did not find. Throws what ClickHouse and the keys throw. */
export async function elsewhere(wanted: Wanted, places: Places): Promise<readonly FoundSession[]> {
  const { keys, clickhouse, surveyed } = places;
  const rows = clickhouse === undefined ? [] : await inRows(clickhouse, wanted);
  const found = new Map<string, FoundSession>();
  for (const one of [...inKeys(keys, wanted), ...rows]) {
    const session = keyOwnerOf(one.session);
    const tenant = one.tenant || (found.get(session)?.tenant ?? '');
    if (!surveyed.has(session)) found.set(session, { session, tenant, logs: [] });
  }
  return [...found.values()];
}
