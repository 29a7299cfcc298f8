import { LongreinError } from '../../chassis/errors.ts';
import { queryClickhouse } from './clickhouse-query.ts';
import { asObjects, readRows } from './query-rows.ts';
import type { Environment } from './terminal.ts';

/** The session that opened this one, where it is a child and the event store has heard of it. */
export async function parentOf(environment: Environment, id: string): Promise<string | undefined> {
  const sql = 'SELECT parent_session_id FROM child_sessions WHERE session_id = {id:String} LIMIT 1';
  try {
    const query = { sql, format: 'JSONCompact', parameters: { id } };
    const { text } = await queryClickhouse(environment, query);
    const parent = asObjects(readRows(text))[0]?.['parent_session_id'];
    return parent === undefined ? undefined : String(parent);
  } catch (thrown) {
    // Without an event store only who names the goal too can call off a child.
    if (thrown instanceof LongreinError) return undefined;
    throw thrown;
  }
}
