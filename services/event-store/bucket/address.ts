import { LongreinError } from '../../chassis/errors.ts';
import type { Signer } from './signature.ts';

/** A place in a bucket, where it is served, and who asks there. */
export type BucketAddress = Readonly<{
  bucket: string;
  /** Before every key; empty, or ends with a slash. */
  prefix: string;
  /** Without the bucket. */
  endpoint: URL;
  /** The bucket stands in the path, not in the name of the host. */
  inPath: boolean;
  signer: Signer;
}>;

export const isBucket = (place: string): boolean => /^(https?|s3):\/\//.test(place);

/**
 * Reads `s3://bucket/path` and the variables that every program for S3 knows. Throws BUCKET_NAME_INVALID and
 * BUCKET_CREDENTIALS_MISSING; neither says a secret.
 */
export function bucketAddress(
  place: string,
  environment: Readonly<Record<string, string | undefined>>,
): BucketAddress {
  const [, bucket = '', path = ''] =
    /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/.exec(place) ?? [];
  if (bucket === '') throw nameInvalid(place);
  const prefix = path.replace(/^\/+|\/+$/g, '');
  const given = environment.AWS_ENDPOINT_URL_S3 || environment.AWS_ENDPOINT_URL;
  const region = environment.AWS_REGION || environment.AWS_DEFAULT_REGION || 'us-east-1';
  return {
    bucket,
    prefix: prefix === '' ? '' : `${prefix}/`,
    endpoint: endpointOf(given ?? `https://s3.${region}.amazonaws.com`),
    inPath: given !== undefined || bucket.includes('.'),
    signer: { region, credentials: credentialsOf(environment) },
  };
}

function credentialsOf(environment: Readonly<Record<string, string | undefined>>) {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = environment;
  if (!accessKeyId || !secretAccessKey) {
    throw new LongreinError(
      'BUCKET_CREDENTIALS_MISSING',
      'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not both set: nobody may ask the bucket',
      { fix: 'Set both (and AWS_SESSION_TOKEN where they are lent), and AWS_REGION.' },
    );
  }
  return { accessKeyId, secretAccessKey, sessionToken: environment.AWS_SESSION_TOKEN || undefined };
}

function endpointOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol) && url.pathname === '/') return url;
  throw new LongreinError('BUCKET_NAME_INVALID', `AWS_ENDPOINT_URL is "${text}"`, {
    fix: 'Give the address of the server alone, such as https://storage.example.com:9000.',
  });
}

const nameInvalid = (place: string): LongreinError =>
  new LongreinError('BUCKET_NAME_INVALID', `"${place}" is no place in a bucket`, {
    fix: 'Write s3://BUCKET/PATH. A server that is not Amazon’s is named by AWS_ENDPOINT_URL.',
  });
