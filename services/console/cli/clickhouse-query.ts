/** Reads from ClickHouse over HTTP, and only reads: every query is sent with `readonly`. */

import { errorCode } from '../../../deploy/local/files.ts';
import { LongreinError, toError } from '../../chassis/errors.ts';
import { type ClickhouseAddress, readClickhouseAddress } from './config.ts';
import type { Environment } from './terminal.ts';

export interface Query {
  readonly sql: string;
  /** The format of the answer, if the statement names none. */
  readonly format: string;
  /** Values for `{name:Type}` in the statement. */
  readonly parameters?: Readonly<Record<string, string>>;
}

export interface Answer {
  readonly format: string;
  readonly text: string;
}

/** Throws CLICKHOUSE_UNKNOWN, CLICKHOUSE_UNREACHABLE or SQL_FAILED. */
export async function queryClickhouse(environment: Environment, query: Query): Promise<Answer> {
  const address = await readClickhouseAddress(environment, 'analyst');
  if (address === undefined) {
    throw new LongreinError('CLICKHOUSE_UNKNOWN', 'no ClickHouse is known', {
      fix: 'Run `longrein up` (without --no-clickhouse), or set LONGREIN_CLICKHOUSE_URL.',
    });
  }
  const answer = await ask(address, query, 'longrein');
  // Before the event store has run there is no database of ours, but other questions have answers.
  const response = answer.code === noSuchDatabase ? await ask(address, query, 'default') : answer;
  if (response.ok) return { format: response.format ?? query.format, text: response.text };
  const missing = answer.code === noSuchDatabase && response.code === noSuchTable;
  throw sqlError(response.text, missing ? noSuchDatabase : response.code);
}

const noSuchTable = 60;
const noSuchDatabase = 81;

interface Response {
  readonly ok: boolean;
  readonly text: string;
  readonly format: string | undefined;
  /** ClickHouse's number of the error. */
  readonly code: number | undefined;
}

async function ask(address: ClickhouseAddress, query: Query, database: string): Promise<Response> {
  const settings = new URLSearchParams({
    database,
    default_format: query.format,
    readonly: '2',
    wait_end_of_query: '1',
    output_format_json_quote_64bit_integers: '1',
  });
  for (const [name, value] of Object.entries(query.parameters ?? {})) {
    settings.set(`param_${name}`, value);
  }
  const pair = Buffer.from(`${address.user}:${address.password}`).toString('base64');
  const headers = { authorization: `Basic ${pair}`, 'content-type': 'text/plain; charset=utf-8' };
  const base = address.url;
  try {
    const response = await fetch(`${base}/?${settings}`, {
      method: 'POST',
      headers,
      body: query.sql,
    });
    const text = await response.text();
    const code = Number(/^Code: (\d+)\./.exec(text)?.[1] ?? Number.NaN);
    return {
      ok: response.ok,
      text,
      format: response.headers.get('x-clickhouse-format') ?? undefined,
      code: response.ok || Number.isNaN(code) ? undefined : code,
    };
  } catch (thrown) {
    throw unreachable(base, thrown);
  }
}

function unreachable(url: string, thrown: unknown): LongreinError {
  const error = toError(thrown);
  const reason = errorCode(error.cause) ?? error.message;
  return new LongreinError('CLICKHOUSE_UNREACHABLE', `ClickHouse at ${url}: ${reason}`, {
    fix: 'Run `longrein up` to start it again, or correct LONGREIN_CLICKHOUSE_URL.',
    retryable: true,
    cause: thrown,
  });
}

const fixes: Readonly<Record<number, string>> = {
  60: 'See what there is: longrein sql "SHOW TABLES"',
  81: 'The event store makes its tables when it starts: longrein up',
  164: 'This command only reads. Send changes to ClickHouse itself.',
  516: 'Set LONGREIN_CLICKHOUSE_USER and LONGREIN_CLICKHOUSE_PASSWORD; `longrein up` keeps its own in stack.json.',
  497: 'Here tables are read and nothing else; changes go to ClickHouse by another user.',
  159: 'Ask for less: a shorter time, one tenant, a rollup such as costs_hourly.',
  241: 'Ask for less: fewer columns, a shorter time, a LIMIT.',
  396: 'Add a LIMIT, or count instead of listing.',
  47: 'See the columns: longrein sql "DESCRIBE TABLE events"',
};

function sqlError(text: string, code: number | undefined): LongreinError {
  const message = text
    .replace(/^Code: \d+\. DB::Exception: /, '')
    .replace(/\s*\(version [^)]*\)\s*$/, '')
    .trim();
  const fix = fixes[code ?? 0] ?? 'Correct the statement; it is ClickHouse SQL.';
  return new LongreinError('SQL_FAILED', message, { fix });
}
