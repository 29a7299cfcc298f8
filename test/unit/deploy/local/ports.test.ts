import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { freePorts } from '../../../../deploy/local/ports.ts';

describe('freePorts', () => {
  it('gives different ports, and the same ones again when they are wished', async () => {
    const first = await freePorts([undefined, undefined, undefined]);
    expect(new Set(first).size).toBe(3);
    expect(await freePorts(first)).toEqual(first);
  });

  it('gives another port for one that is taken', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const taken = typeof address === 'object' && address ? address.port : 0;
    const [port] = await freePorts([taken]);
    server.close();
    expect(port).not.toBe(taken);
    expect(port).toBeGreaterThan(0);
  });
});
