import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { LongreinError, toError } from '../../chassis/errors.ts';
import type { BucketAddress } from './address.ts';
import { sha256Of, signed } from './signature.ts';

export type Body = Readonly<{ bytes: number; sha256: string; open(): Readable }>;

export type BucketRequest = Readonly<{
  method: 'GET' | 'PUT' | 'DELETE';
  /** Below the prefix; undefined: the bucket itself. */
  key?: string | undefined;
  query?: Readonly<Record<string, string>>;
  body?: Body;
}>;

const nothing: Body = { bytes: 0, sha256: sha256Of(''), open: () => Readable.from([]) };
const tries = 4;
const firstWaitMs = 200;
const silenceMs = 60_000;

/**
 * Sends it until it is answered; each request may be sent again. Resolves to the answer, whose body the caller reads, or to
 * undefined where no such object is. Throws BUCKET_REFUSED with the server's word, BUCKET_UNREACHABLE.
 */
export async function ask(
  address: BucketAddress,
  request: BucketRequest,
): Promise<IncomingMessage | undefined> {
  for (let count = 1; ; count += 1) {
    const answer = await sendOnce(address, request).catch((thrown: unknown) => toError(thrown));
    const isLast = count === tries;
    if (answer instanceof Error) {
      if (isLast) throw unreachable(address, answer);
    } else {
      const { statusCode: status = 0 } = answer;
      if (status < 300) return answer;
      const problem = await problemOf(answer);
      if (problem.code === 'NoSuchKey') return undefined;
      if (isLast || (status < 500 && status !== 429)) throw refused(address, request, problem);
    }
    await sleep(firstWaitMs * 2 ** count);
  }
}

async function sendOnce(address: BucketAddress, request: BucketRequest): Promise<IncomingMessage> {
  const { method, key, query = {}, body = nothing } = request;
  const url = urlOf(address, key, query);
  const unsigned = { method, url, bodySha256: body.sha256, atMs: Date.now() };
  const { path, headers } = await signed(unsigned, address.signer);
  const length = method === 'PUT' ? { 'content-length': body.bytes } : {};
  const options = { method, path, timeout: silenceMs, headers: { ...headers, ...length } };
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  return await answered(send(url, options), body);
}

/** Of an object, or of the bucket itself. */
function urlOf(
  { endpoint, inPath, bucket, prefix }: BucketAddress,
  key: string | undefined,
  query: Readonly<Record<string, string>>,
): URL {
  const host = inPath ? endpoint.host : `${bucket}.${endpoint.host}`;
  const inside = key === undefined ? [] : `${prefix}${key}`.split('/');
  const path = [...(inPath ? [bucket] : []), ...inside].map(encodeURIComponent).join('/');
  const url = new URL(`${endpoint.protocol}//${host}/${path}`);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url;
}

async function answered(sent: ClientRequest, body: Body): Promise<IncomingMessage> {
  const answer = new Promise<IncomingMessage>((resolve, reject) => {
    sent.on('response', resolve);
    sent.on('error', reject);
    sent.on('timeout', () => sent.destroy(new Error(`no word for ${silenceMs / 1_000} s`)));
  });
  // A server may refuse before it has read all: then its answer counts, not the broken pipe.
  const written = pipeline(body.open(), sent).catch((thrown: unknown) => toError(thrown));
  const got = await answer.catch(async (thrown: unknown) => {
    await written;
    throw thrown;
  });
  return got;
}

type Problem = Readonly<{ status: number; code: string; message: string; region: string }>;

async function problemOf(answer: IncomingMessage): Promise<Problem> {
  const body = await text(answer);
  const said = (name: string): string =>
    new RegExp(`<${name}>([^<]*)</${name}>`).exec(body)?.[1] ?? '';
  const region = answer.headers['x-amz-bucket-region'];
  return {
    status: answer.statusCode ?? 0,
    code: said('Code'),
    message: said('Message'),
    region: typeof region === 'string' ? region : '',
  };
}

const placeOf = ({ bucket, prefix }: BucketAddress, key = ''): string =>
  `s3://${bucket}/${prefix}${key}`;

function refused(
  address: BucketAddress,
  { method, key, query = {} }: BucketRequest,
  { status, code, message, region }: Problem,
): LongreinError {
  const what = [method, ...Object.keys(query)].join(' ');
  const said = [code, message].filter((one) => one !== '').join(': ') || 'no reason';
  const elsewhere = region !== '' && region !== address.signer.region;
  return new LongreinError(
    'BUCKET_REFUSED',
    `${placeOf(address, key)} (${what}) was refused with ${status}, ${said}`,
    {
      fix: elsewhere
        ? `The bucket is in another region: set AWS_REGION=${region}.`
        : 'Check the name of the bucket, AWS_REGION, the credentials and what they may do there.',
    },
  );
}

const unreachable = (address: BucketAddress, cause: Error): LongreinError =>
  new LongreinError(
    'BUCKET_UNREACHABLE',
    `${placeOf(address)} does not answer at ${address.endpoint.host}: ${cause.message}`,
    { fix: 'Check the network, or AWS_ENDPOINT_URL.', retryable: true, cause },
  );
