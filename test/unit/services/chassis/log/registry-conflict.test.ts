import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { createRegistryCodec, subjectsOf } from '../../../../../services/chassis/log/registry.ts';

const contested = 'longrein.record.input';
const said = JSON.stringify({
  error_code: 409,
  message: 'An artifact with that ID already exists.',
});
let server: Server | undefined;

afterEach(() => server?.close());

/** A registry that has none of the subjects, and refuses one of them so often as if it was there. */
async function registryThatRefuses(times: number): Promise<string> {
  let left = times;
  let ids = 0;
  server = createServer(({ method, url = '' }, answer) => {
    ids += 1;
    const reply = (status: number, text: string): void => {
      answer.writeHead(status, { 'content-type': 'application/json' }).end(text);
    };
    if (url.startsWith('/config')) return reply(200, '{"compatibilityLevel":"BACKWARD"}');
    if (method === 'GET' && url === '/subjects') return reply(200, '[]');
    if (method === 'GET') return reply(200, JSON.stringify({ id: ids }));
    if (!url.endsWith('/versions')) return reply(404, '{"error_code":40401,"message":"not found"}');
    if (decodeURIComponent(url).includes(`/${contested}/`) && left > 0) {
      left -= 1;
      return reply(409, said);
    }
    return reply(200, JSON.stringify({ id: ids }));
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it('asks again where another made the subject in the same moment', async () => {
  expect(subjectsOf().map(({ name }) => name)).toContain(contested);
  const codec = await createRegistryCodec(await registryThatRefuses(2));
  expect(codec.encode('input', {}).byteLength).toBeGreaterThan(5);
});

it('says that the schema does not fit where the registry keeps refusing it', async () => {
  await expect(createRegistryCodec(await registryThatRefuses(100))).rejects.toMatchObject({
    code: 'SCHEMA_INCOMPATIBLE',
  });
});
