import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type BodyReader, formFields } from './body.ts';
import type { Caller } from './caller.ts';
import { exception } from './exception.ts';

/** One statement as it was asked for over HTTP. Nothing of it outlives the request. */
export type StatementRequest = Readonly<{
  queryId: string;
  caller: Caller;
  sql: string;
  /** The rows of an insert, when they came apart from the statement. Empty otherwise. */
  data: Buffer;
  /** How many bytes of memory the body holds until the statement is done. */
  bodyBytes: number;
  settings: Readonly<Record<string, string>>;
  parameters: Readonly<Record<string, string>>;
  database: string | undefined;
  /** The format of the answer if the statement names none. */
  format: string | undefined;
  gzip: boolean;
  /** The caller wants the whole answer before the first byte. */
  wholeAnswer: boolean;
}>;

/**
 * Part of the protocol: these are not settings of the engine, or have no meaning without a network
 * between.
 */
const protocolNames = new Set([
  'buffer_size',
  'cancel_http_readonly_queries_on_client_close',
  'client_protocol_version',
  'compress',
  'database',
  'decompress',
  'default_format',
  'enable_http_compression',
  'http_headers_progress_interval_ms',
  'http_response_buffer_size',
  'http_write_exception_in_output_format',
  'http_zlib_compression_level',
  'password',
  'query',
  'query_id',
  'quota_key',
  'role',
  'send_progress_in_http_headers',
  'session_check',
  'session_id',
  'session_timeout',
  'stacktrace',
  'user',
  'wait_end_of_query',
]);

/**
 * Reads the request whole. Throws what the body reader throws, and 115 for a name that cannot be a
 * setting.
 */
export async function readRequest(
  request: IncomingMessage,
  query: URLSearchParams,
  context: { caller: Caller; bodies: BodyReader },
): Promise<StatementRequest> {
  const body = await context.bodies.read(request);
  const type = request.headers['content-type'] ?? '';
  const form = type.startsWith('multipart/form-data') ? await formFields(body, type) : undefined;
  const stated = form?.get('query') ?? query.get('query') ?? '';
  const { settings, parameters } = named([...query, ...(form ?? [])]);
  const header = (name: string) => request.headers[name]?.toString();
  return {
    queryId: query.get('query_id') ?? randomUUID(),
    caller: context.caller,
    sql: stated === '' ? body.toString('utf8') : stated,
    data: stated === '' || form !== undefined ? Buffer.alloc(0) : body,
    bodyBytes: body.length,
    settings,
    parameters,
    database: query.get('database') ?? header('x-clickhouse-database'),
    format: query.get('default_format') ?? header('x-clickhouse-format'),
    gzip: query.get('enable_http_compression') === '1' && acceptsGzip(request),
    wholeAnswer: query.get('wait_end_of_query') === '1',
  };
}

function named(pairs: Iterable<readonly [string, string]>): {
  settings: Record<string, string>;
  parameters: Record<string, string>;
} {
  const settings: Record<string, string> = {};
  const parameters: Record<string, string> = {};
  for (const [name, value] of pairs) {
    if (protocolNames.has(name)) continue;
    if (!/^[A-Za-z_]\w*$/.test(name)) throw exception(115, `Unknown setting '${name}'`);
    if (name.startsWith('param_')) parameters[name.slice('param_'.length)] = value;
    else settings[name] = value;
  }
  return { settings, parameters };
}

function acceptsGzip(request: IncomingMessage): boolean {
  return /\bgzip\b/.test(request.headers['accept-encoding']?.toString() ?? '');
}
