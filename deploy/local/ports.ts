/**
 * Free ports on 127.0.0.1: the one used last time if it is free, so that addresses stay what they
 * were.
 */
import { createServer, type Server } from 'node:net';
import { LongreinError } from '../../services/chassis/errors.ts';

export const loopback = '127.0.0.1';

/**
 * One port per wish, all different; a wish that is undefined or taken gets any free port. The ports
 * are free when this returns, not reserved: whoever binds them must be ready to be refused.
 */
export async function freePorts(wishes: readonly (number | undefined)[]): Promise<number[]> {
  const servers: Server[] = [];
  try {
    for (const wish of wishes) {
      servers.push(
        (wish === undefined ? undefined : await listen(wish)) ?? (await listenAnywhere()),
      );
    }
    return servers.map(portOf);
  } finally {
    await Promise.all(servers.map(close));
  }
}

async function listenAnywhere(): Promise<Server> {
  const server = await listen(0);
  if (server) return server;
  throw new LongreinError('NO_FREE_PORT', `no port is free on ${loopback}`, {
    fix: 'Stop programs that hold many ports, then try again.',
    retryable: true,
  });
}

function listen(port: number): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen({ host: loopback, port, exclusive: true }, () => resolve(server));
  });
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}
