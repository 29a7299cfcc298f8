import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/**
 * A bucket on this machine: what of S3 an export needs, with versions, and strict: a request whose signature or hash is wrong is
 * refused, as S3 does. Signatures are computed from the request as it came in, not by the code that is tested.
 */
export type BucketServer = Readonly<{
  url: string;
  bucket: string;
  environment: Readonly<Record<string, string>>;
  /** Key -> its versions, the newest last; undefined: a mark that it was deleted. */
  objects: Map<string, Version[]>;
  /** From now on what is written over is kept. */
  keepVersions(): void;
  /** So many requests are told to come again. */
  failNext(count: number): void;
  close(): Promise<void>;
}>;

type Version = Readonly<{ id: string; body: Buffer | undefined }>;

const region = 'eu-test-1';
const accessKeyId = 'AKIDTEST';
const secretAccessKey = 'not/a+real secret';
const bucket = 'longrein-test';
/** Small, so that lists have pages. */
const pageKeys = 4;

const hmac = (key: string | Buffer, text: string): Buffer =>
  createHmac('sha256', key).update(text).digest();

function isSigned(request: IncomingMessage, body: Buffer): boolean {
  const { headers, method = '', url = '' } = request;
  const signed = /SignedHeaders=([^,]+), Signature=(\w+)$/.exec(headers.authorization ?? '');
  const [, names = '', signature = ''] = signed ?? [];
  const hash = createHash('sha256').update(body).digest('hex');
  if (headers['x-amz-content-sha256'] !== hash) return false;
  const [path = '', query = ''] = url.split('?');
  const lines = names.split(';').map((name) => `${name}:${headers[name]}\n`);
  const canonical = [method, path, query, lines.join(''), names, hash].join('\n');
  const at = String(headers['x-amz-date']);
  const scope = `${at.slice(0, 8)}/${region}/s3/aws4_request`;
  const digest = createHash('sha256').update(canonical).digest('hex');
  const key = scope.split('/').reduce<string | Buffer>(hmac, `AWS4${secretAccessKey}`);
  const wanted = hmac(key, `AWS4-HMAC-SHA256\n${at}\n${scope}\n${digest}`).toString('hex');
  return (
    signature === wanted && headers.authorization?.includes(`${accessKeyId}/${scope}`) === true
  );
}

const problem = (code: string): string =>
  `<?xml version="1.0"?><Error><Code>${code}</Code><Message>as asked</Message></Error>`;

class Bucket {
  readonly objects = new Map<string, Version[]>();
  versioned = false;
  failing = 0;
  #count = 0;

  answer(method: string, url: URL, body: Buffer): readonly [number, string | Buffer] {
    if (this.failing > 0) {
      this.failing -= 1;
      return [503, problem('SlowDown')];
    }
    const [, name = '', ...rest] = url.pathname.split('/');
    if (decodeURIComponent(name) !== bucket) return [404, problem('NoSuchBucket')];
    const key = decodeURIComponent(rest.join('/'));
    if (key === '') return [200, this.#list(url.searchParams)];
    if (method === 'PUT') return this.#put(key, body);
    if (method === 'DELETE') return this.#delete(key, url.searchParams.get('versionId'));
    const found = this.objects.get(key)?.at(-1)?.body;
    return found === undefined ? [404, problem('NoSuchKey')] : [200, found];
  }

  #put(key: string, body: Buffer | undefined): readonly [number, string] {
    const older = this.versioned ? (this.objects.get(key) ?? []) : [];
    this.#count += 1;
    this.objects.set(key, [...older, { id: `v${this.#count}`, body }]);
    return [body === undefined ? 204 : 200, ''];
  }

  #delete(key: string, version: string | null): readonly [number, string] {
    if (version === null && this.versioned) return this.#put(key, undefined);
    const left = (this.objects.get(key) ?? []).filter(
      ({ id }) => version !== null && id !== version,
    );
    if (left.length === 0) this.objects.delete(key);
    else this.objects.set(key, left);
    return [204, ''];
  }

  #list(query: URLSearchParams): string {
    if (query.has('versioning'))
      return `<VersioningConfiguration>${this.versioned ? '<Status>Enabled</Status>' : ''}</VersioningConfiguration>`;
    const after = query.get('continuation-token') ?? query.get('key-marker') ?? '';
    const keys = [...this.objects.keys()]
      .filter((key) => key.startsWith(query.get('prefix') ?? '') && key > after)
      .sort();
    const page = keys.slice(0, pageKeys);
    const last = keys.length > pageKeys ? (page.at(-1) ?? '') : '';
    const blocks = page.map((key) =>
      query.has('versions') ? this.#versions(key) : this.#entry(key),
    );
    return `<Result><IsTruncated>${last !== ''}</IsTruncated>${blocks.join('')}
      <NextContinuationToken>${last}</NextContinuationToken><NextKeyMarker>${last}</NextKeyMarker></Result>`;
  }

  #entry(key: string): string {
    const there = this.objects.get(key)?.at(-1)?.body !== undefined;
    return there ? `<Contents><Key>${key.replaceAll('&', '&amp;')}</Key></Contents>` : '';
  }

  #versions(key: string): string {
    const all = this.objects.get(key) ?? [];
    const blocks = all.map(({ id, body }, place) => {
      const name = body === undefined ? 'DeleteMarker' : 'Version';
      const latest = place === all.length - 1;
      return `<${name}><Key>${key}</Key><VersionId>${id}</VersionId><IsLatest>${latest}</IsLatest></${name}>`;
    });
    return blocks.join('');
  }
}

export async function startBucketServer(): Promise<BucketServer> {
  const state = new Bucket();
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await buffer(request);
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    const [status, text] = isSigned(request, body)
      ? state.answer(request.method ?? '', url, body)
      : ([403, problem('SignatureDoesNotMatch')] as const);
    response.writeHead(status).end(text);
  };
  const server = createServer((request, response) => {
    serve(request, response).catch((thrown: unknown) => response.destroy(thrown as Error));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    ...{ url, bucket, objects: state.objects },
    environment: {
      ...{ AWS_ENDPOINT_URL: url, AWS_REGION: region },
      ...{ AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey },
    },
    keepVersions: () => {
      state.versioned = true;
    },
    failNext: (count) => {
      state.failing = count;
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
