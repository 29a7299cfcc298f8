/** A model server on 127.0.0.1 for tests: answers from a queue and remembers what it was asked. */

import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export type StubAnswer = Readonly<{
  status?: number;
  headers?: Readonly<Record<string, string>>;
  body?: unknown;
  /** Never answers; `closed` of the server tells when the client has gone. */
  hangs?: boolean;
}>;

export type StubRequest = Readonly<{
  path: string;
  headers: IncomingHttpHeaders;
  body: Readonly<Record<string, unknown>>;
}>;

export type StubServer = Readonly<{
  url: string;
  requests: readonly StubRequest[];
  answer(next: StubAnswer): void;
  /** Resolves when a request has arrived. */
  arrived: Promise<void>;
  /** Resolves when a client has closed its connection before the answer. */
  closed: Promise<void>;
  stop(): Promise<void>;
}>;

/** Starts a server on a free port. */
export async function startStubServer(): Promise<StubServer> {
  const requests: StubRequest[] = [];
  const answers: StubAnswer[] = [];
  const arrived = signalled();
  const closed = signalled();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString('utf8'));
      requests.push({ path: request.url ?? '', headers: request.headers, body });
      arrived.resolve();
      const answer = answers.shift() ?? { status: 418, body: { error: { message: 'no answer' } } };
      if (answer.hangs) {
        response.on('close', closed.resolve);
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
