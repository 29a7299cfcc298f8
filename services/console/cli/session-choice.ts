/** Which sessions a command goes over: those that a query gives, or the exports in a directory. */
import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Call } from './context.ts';
import { UsageError } from './exit-code.ts';
import { asObjects, readRows } from './query-rows.ts';

type Query = Readonly<{ sql: string; parameters: Readonly<Record<string, string>> }>;

/** The column `session_id` of a query, each session once. Throws UsageError where it has none. */
export async function sessionsOfQuery(call: Call, query: Query): Promise<readonly string[]> {
  const { queryClickhouse } = await import('./clickhouse-query.ts');
  const { text } = await queryClickhouse(call.environment, { ...query, format: 'JSONCompact' });
  const rows = asObjects(readRows(text));
  if (rows.length > 0 && rows[0]?.['session_id'] === undefined)
    throw new UsageError('the query of --over gives no column session_id', 'Select session_id.');
  return [...new Set(rows.map((row) => String(row['session_id'])))];
}

/** What `--over` names: a directory of exported sessions, or SQL. */
export async function sessionsOver(call: Call, over: string): Promise<readonly string[]> {
  const directory = resolve(call.workingDir, over);
  const isWord = !/\s/.test(over);
  if (isWord && (await stat(directory).catch(() => undefined))?.isDirectory()) {
    const names = (await readdir(directory)).filter((name) => name.endsWith('.jsonl')).sort();
    return names.map((name) => join(directory, name));
  }
  if (isWord)
    throw new UsageError(
      `--over "${over}" is no directory`,
      'Name one, or give SQL that selects session_id.',
    );
  return await sessionsOfQuery(call, { sql: over, parameters: {} });
}

/** Says how far it is, on a terminal. The answer takes the line away. */
export function progressOf({ terminal, json }: Call, total: number): (done: number) => void {
  if (!terminal.errIsTty || json) return () => undefined;
  return (done) => terminal.err(done < total ? `\r${done} of ${total} sessions` : '\r\u001b[K');
}
