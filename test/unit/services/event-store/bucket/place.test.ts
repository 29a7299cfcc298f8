import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { bucketAddress } from '../../../../../services/event-store/bucket/address.ts';
import { keysOf } from '../../../../../services/event-store/bucket/objects.ts';
import { bucketPlace } from '../../../../../services/event-store/bucket/place.ts';
import { readWhole, writeText } from '../../../../../services/event-store/parquet/place.ts';
import { type BucketServer, startBucketServer } from '../../../../support/bucket-server.ts';

/** Objects of a bucket, over HTTP on this machine. */
let server: BucketServer;
const here = (environment: Readonly<Record<string, string>> = {}) =>
  bucketAddress(`s3://${server.bucket}/a path/of/ours`, { ...server.environment, ...environment });

beforeEach(async () => {
  server = await startBucketServer();
});
afterEach(() => server.close());

const odd = "tenant_id=a%2Fb/dt=2026-01-01/it's (one)*!.parquet";

test('what was written is read back, listed page by page, and gone when it is removed', async () => {
  const place = bucketPlace(here());
  expect(place.name).toBe(`s3://${server.bucket}/a path/of/ours`);
  const written = await place.write(
    odd,
    Readable.from([Buffer.from('some '), Buffer.from('rows')]),
  );
  expect(written.bytes).toBe(9);
  expect([...server.objects.keys()]).toEqual([`a path/of/ours/${odd}`]);
  const stream = await place.open(odd);
  expect(stream === undefined ? '' : await text(stream)).toBe('some rows');
  const more = ['a & b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'];
  for (const key of more) await writeText(place, key, key);
  expect([...(await keysOf(here()))].sort()).toEqual([...more, odd].sort());
  await place.remove(odd);
  await place.remove(odd);
  expect(await readWhole(place, odd)).toBeUndefined();
});

test('a server that is busy is asked again', async () => {
  server.failNext(2);
  await writeText(bucketPlace(here()), 'a', 'words');
  expect(server.objects.size).toBe(1);
});

test('older versions go, in the named folders only, those of deleted objects too', async () => {
  const place = bucketPlace(here());
  server.keepVersions();
  for (const body of ['first', 'second', 'third'])
    for (const path of ['x/1', 'x/2', 'x/3', 'x/4', 'x/5', 'y/1'])
      await writeText(place, path, body);
  await place.remove('x/2');
  await place.forgetOlder(['x/']);
  const left = [...server.objects].map(([key, versions]) => [
    key.slice(-3),
    versions.map(({ body }) => body?.toString()),
  ]);
  expect(Object.fromEntries(left)).toEqual({
    ...{ 'x/1': ['third'], 'x/2': [undefined], 'x/3': ['third'], 'x/4': ['third'] },
    ...{ 'x/5': ['third'], 'y/1': ['first', 'second', 'third'] },
  });
});

test('a refusal says what was asked, why, and no secret', async () => {
  const wrong = bucketPlace(here({ AWS_SECRET_ACCESS_KEY: 'another secret' }));
  const thrown: unknown = await wrong.open('a').catch((one: unknown) => one);
  expect(thrown).toMatchObject({
    code: 'BUCKET_REFUSED',
    message: expect.stringMatching(/a path\/of\/ours\/a \(GET\).*403, SignatureDoesNotMatch/),
  });
  expect(JSON.stringify(thrown) + String(thrown)).not.toMatch(/another secret|AKIDTEST/);
});

test('a bucket elsewhere names its region; one that is nowhere is no empty export', async () => {
  const redirect = createServer((_request, response) => {
    response.writeHead(301, { 'x-amz-bucket-region': 'eu-west-9' }).end();
  });
  await new Promise<void>((resolve) => redirect.listen(0, '127.0.0.1', resolve));
  const { port } = redirect.address() as { port: number };
  const moved = here({ AWS_ENDPOINT_URL: `http://127.0.0.1:${port}` });
  await expect(bucketPlace(moved).open('a')).rejects.toMatchObject({
    code: 'BUCKET_REFUSED',
    fix: expect.stringContaining('AWS_REGION=eu-west-9'),
  });
  redirect.close();
  const nowhere = bucketPlace({ ...here(), bucket: 'not-there' });
  await expect(nowhere.open('a')).rejects.toMatchObject({ code: 'BUCKET_REFUSED' });
});

test('who cannot be asked is said', async () => {
  const shut = here({ AWS_ENDPOINT_URL: 'http://127.0.0.1:1' });
  await expect(bucketPlace(shut).open('a')).rejects.toMatchObject({
    ...{ code: 'BUCKET_UNREACHABLE', retryable: true },
  });
});

test.each([
  ['https://bucket.s3.amazonaws.com/x', {}, 'BUCKET_NAME_INVALID'],
  ['s3://Bucket/x', {}, 'BUCKET_NAME_INVALID'],
  ['s3://bucket/x', { AWS_ENDPOINT_URL: 'storage:9000' }, 'BUCKET_NAME_INVALID'],
  ['s3://bucket/x', { AWS_ACCESS_KEY_ID: '' }, 'BUCKET_CREDENTIALS_MISSING'],
])('%s with %j is refused', (place, environment, code) => {
  const asked = () => bucketAddress(place, { ...server.environment, ...environment });
  expect(asked).toThrow(expect.objectContaining({ code }));
});

test('without an endpoint it is Amazon: the bucket in the host, unless it has dots', () => {
  const { AWS_ENDPOINT_URL: _, ...amazon } = server.environment;
  expect(bucketAddress('s3://bucket', amazon)).toMatchObject({
    ...{ inPath: false, prefix: '', endpoint: new URL('https://s3.eu-test-1.amazonaws.com') },
  });
  expect(bucketAddress('s3://a.bucket/x/', amazon)).toMatchObject({ inPath: true, prefix: 'x/' });
});
