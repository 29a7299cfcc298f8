import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { HealthAddress } from '../config/runtime-config.ts';
import { LongreinError, toError } from '../errors.ts';
import type { Health } from '../host/health.ts';
import type { Meter } from './meter.ts';
import { prometheusMediaType, prometheusText } from './prometheus-text.ts';

/**
 * `/healthz`: the process lives; `/readyz`: 200 where it is ready, else 503 with the reasons; `/metrics`: its figures for
 * Prometheus. Answers nothing else, changes nothing, and holds no secret.
 */

export type HealthParts = Readonly<{
  address: HealthAddress;
  /** Where `auto` leaves a note of the port that was free. */
  stateDir: string;
  health(): Health;
  meter: Pick<Meter, 'collect'>;
}>;

export type HealthServer = Readonly<{ url: string; stop(): Promise<void> }>;

/** The note of a process that was told `auto`: `{ "url": … }`. */
export const healthNotePath = (stateDir: string, pid: number): string =>
  join(stateDir, 'health', `${pid}.json`);

/** Throws LongreinError HEALTH_ADDRESS where it cannot listen there. */
export async function startHealthServer(parts: HealthParts): Promise<HealthServer> {
  const server = createServer((request, response) => {
    const [path = ''] = (request.url ?? '').split('?');
    if (request.method !== 'GET' && request.method !== 'HEAD')
      send(response, { status: 405, type: plain, text: 'only GET is answered here\n' });
    else send(response, answer(path, parts));
  });
  const { host } = parts.address;
  const port = await listen(server, parts.address);
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const note = healthNotePath(parts.stateDir, process.pid);
  if (parts.address.port === 'auto') {
    mkdirSync(join(parts.stateDir, 'health'), { recursive: true });
    writeFileSync(note, `${JSON.stringify({ url })}\n`);
  }
  return {
    url,
    async stop() {
      if (parts.address.port === 'auto') rmSync(note, { force: true });
      server.closeAllConnections();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}

type Answer = Readonly<{ status: number; type: string; text: string }>;

const plain = 'text/plain; charset=utf-8';
const json = 'application/json';

function answer(path: string, { health, meter }: HealthParts): Answer {
  switch (path) {
    case '/healthz':
      return { status: 200, type: json, text: '{"alive":true}\n' };
    case '/readyz': {
      const now = health();
      return { status: now.ready ? 200 : 503, type: json, text: `${JSON.stringify(now)}\n` };
    }
    case '/metrics':
      return { status: 200, type: prometheusMediaType, text: prometheusText(meter.collect()) };
    default:
      return { status: 404, type: plain, text: 'here are: /healthz, /readyz, /metrics\n' };
  }
}

function send(response: ServerResponse, { status, type, text }: Answer): void {
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' });
  response.end(text);
}

async function listen(server: Server, { host, port }: HealthAddress): Promise<number> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port === 'auto' ? 0 : port, host, resolve);
    });
  } catch (thrown) {
    const message = `nothing can listen on ${host}:${port}: ${toError(thrown).message}`;
    throw new LongreinError('HEALTH_ADDRESS', message, {
      fix: 'set LONGREIN_HEALTH_PORT to a free port, or to `auto` for several processes of one machine',
    });
  }
  // What asks must not keep a process that is done.
  server.unref();
  return (server.address() as AddressInfo).port;
}
