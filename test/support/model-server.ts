/** A model server on 127.0.0.1 for tests: answers from a queue and remembers what it was asked. */

import {
  createServer,
  type IncomingHttpHeaders,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';

export type ServerAnswer = Readonly<{
  status?: number;
  headers?: Readonly<Record<string, string>>;
  body?: unknown;
  /** Server-sent events, one text each; the connection breaks after them (`cut`) or stays (`hangs`). */
  stream?: Readonly<{
    events: readonly string[];
    cut?: boolean;
    firstAfterMs?: number;
    hangs?: boolean;
  }>;
  /** Never answers; `closed` of the server tells when the client has gone. */
  hangs?: boolean;
}>;

export type ServerRequest = Readonly<{
  path: string;
  headers: IncomingHttpHeaders;
  body: Readonly<Record<string, unknown>>;
}>;

export type ModelServer = Readonly<{
  url: string;
  requests: readonly ServerRequest[];
  answer(next: ServerAnswer): void;
  /** Resolves when a request has arrived. */
  arrived: Promise<void>;
  /** Resolves when a client has closed its connection before the answer. */
  closed: Promise<void>;
  stop(): Promise<void>;
}>;

/** Starts a server on a free port. */
export async function startModelServer(): Promise<ModelServer> {
  const requests: ServerRequest[] = [];
  const answers: ServerAnswer[] = [];
  const arrived = signalled();
  const closed = signalled();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString('utf8') || '{}');
      requests.push({ path: request.url ?? '', headers: request.headers, body });
      arrived.resolve();
      const answer = answers.shift() ?? { status: 418, body: { error: { message: 'no answer' } } };
      if (answer.hangs) {
        response.on('close', closed.resolve);
        return;
      }
      if (answer.stream !== undefined) {
        response.on('close', closed.resolve);
        void streamOut(response, answer.stream);
        return;
      }
      const text = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body);
      const headers = { 'content-type': 'application/json', ...answer.headers };
      response.writeHead(answer.status ?? 200, headers).end(text);
    });
  });
  const url = await listen(server);
  return {
    url,
    requests,
    answer(next) {
      answers.push(next);
    },
    arrived: arrived.promise,
    closed: closed.promise,
    stop: () => close(server),
  };
}

async function streamOut(
  response: ServerResponse,
  { events, cut, firstAfterMs, hangs }: NonNullable<ServerAnswer['stream']>,
): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
  if (firstAfterMs !== undefined) await new Promise((go) => setTimeout(go, firstAfterMs));
  for (const event of events) await new Promise((sent) => response.write(`${event}\n\n`, sent));
  if (hangs === true) return;
  if (cut === true) response.destroy();
  else response.end();
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (!isAddress(address)) throw new Error('the stub server has no port');
  return `http://127.0.0.1:${address.port}`;
}

function isAddress(address: AddressInfo | string | null): address is AddressInfo {
  return typeof address === 'object' && address !== null;
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise<void>((resolve) => server.close(() => resolve()));
}

function signalled(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve: () => resolve() };
}
