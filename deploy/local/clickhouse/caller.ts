import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { exception } from './exception.ts';

export const analystUser = 'analyst';

/**
 * `owner` may do anything. The others read tables and nothing else: no changes, no files, no network. `reader` is the owner
 * without the right to change; `analyst` has a role of its own inside the engine.
 */
export type Caller = 'owner' | 'reader' | 'analyst';

type Tokens = Readonly<{ token: string | undefined; analystToken: string | undefined }>;

/**
 * Who asks. GET and the user `analyst` only read. Throws code 516 when a token is wanted and
 * not shown, and 497 for requests that a web page sent: a page of any site can reach this port, and
 * must not reach the data.
 */
export function identify(request: IncomingMessage, query: URLSearchParams, tokens: Tokens): Caller {
  refuseWebPages(request);
  const { user, password } = credentials(request, query);
  const analyst = user === analystUser;
  const wanted = analyst ? (tokens.analystToken ?? tokens.token) : tokens.token;
  if (wanted !== undefined && !same(wanted, password)) {
    const message = `${user || 'default'}: Authentication failed: password is incorrect`;
    throw exception(516, message);
  }
  if (analyst) return 'analyst';
  return request.method === 'GET' ? 'reader' : 'owner';
}

function refuseWebPages(request: IncomingMessage): void {
  const host = (request.headers.host ?? '').replace(/:\d+$/, '');
  const local = host === '127.0.0.1' || host === 'localhost' || host === '[::1]';
  if (!local) throw exception(497, `Host "${host}" is not this machine; use 127.0.0.1`);
  if (request.headers.origin !== undefined) {
    throw exception(
      497,
      'Requests from web pages are not served; use a client without Origin header',
    );
  }
}

function credentials(
  request: IncomingMessage,
  query: URLSearchParams,
): { user: string; password: string } {
  const { headers } = request;
  const [scheme, value] = (headers.authorization ?? '').split(' ', 2);
  if (scheme?.toLowerCase() === 'basic' && value !== undefined) {
    const decoded = Buffer.from(value, 'base64').toString('utf8');
    const colon = decoded.indexOf(':');
    return { user: decoded.slice(0, colon), password: decoded.slice(colon + 1) };
  }
  const user = single(headers['x-clickhouse-user']) ?? query.get('user') ?? '';
  if (scheme?.toLowerCase() === 'bearer' && value !== undefined) return { user, password: value };
  return { user, password: single(headers['x-clickhouse-key']) ?? query.get('password') ?? '' };
}

function single(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

function same(wanted: string, given: string): boolean {
  const [a, b] = [Buffer.from(wanted), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
}
