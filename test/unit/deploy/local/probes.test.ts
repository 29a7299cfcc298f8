import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePorts } from '../../../../deploy/local/ports.ts';
import {
  probeBrokers,
  probeClickhouse,
  probeRegistry,
  probeSocket,
  withoutCredentials,
} from '../../../../deploy/local/probes.ts';

let base = '';
let closed = '';
let authorization: string | undefined;

const server = createServer((request, response) => {
  authorization = request.headers.authorization;
  if (request.url === '/subjects') response.end('["goal"]');
  else if (request.url === '/ping') response.end('Ok.\n');
  else if (request.url === '/broken/subjects') response.writeHead(503).end();
  else response.end('<html>something else</html>');
});

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  base = `127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
  closed = `127.0.0.1:${(await freePorts([undefined]))[0]}`;
});

afterAll(() => {
  server.close();
});

describe('a probe', () => {
  it('is content with a registry and a ClickHouse that answer', async () => {
    expect(await probeRegistry(`http://${base}`)).toEqual({ ok: true, reason: '' });
    expect(await probeClickhouse(`http://${base}`)).toEqual({ ok: true, reason: '' });
  });

  it('sends the password of an address and never tells it', async () => {
    const url = `http://ada:s%3Acret@${base}`;
    expect((await probeRegistry(url)).ok).toBe(true);
    expect(authorization).toBe(`Basic ${Buffer.from('ada:s:cret').toString('base64')}`);
    const { reason } = await probeRegistry(`${url}/broken`);
    expect(reason).toBe(`http://${base}/broken/subjects answers HTTP 503`);
  });

  it('knows another program from the wanted one', async () => {
    const { ok, reason } = await probeClickhouse(`http://${base}/other`);
    expect([ok, reason]).toEqual([false, `http://${base}/other/ping is another program`]);
  });

  it('names the address that nothing listens on', async () => {
    const refused = { ok: false, reason: `${closed}: ECONNREFUSED` };
    expect(await probeBrokers([closed])).toEqual(refused);
    const url = `http://${closed}/subjects: ECONNREFUSED`;
    expect((await probeRegistry(`http://${closed}`)).reason).toBe(url);
  });

  it('says when what is given is no address', async () => {
    expect((await probeSocket('kafka')).reason).toBe('kafka is not host:port');
    expect((await probeRegistry('registry')).reason).toBe('registry/subjects is not an address');
  });
});

describe('withoutCredentials', () => {
  it('removes user and password and nothing else', () => {
    expect(withoutCredentials('http://a:b@h:1/p')).toBe('http://h:1/p');
    expect(withoutCredentials('http://h:1/p')).toBe('http://h:1/p');
    expect(withoutCredentials('127.0.0.1:9092')).toBe('127.0.0.1:9092');
  });
});
