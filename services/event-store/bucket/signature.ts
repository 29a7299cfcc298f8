import { createHash, createHmac } from 'node:crypto';

/** Signature version 4 of Amazon, as S3 and the servers that speak its protocol ask for it. */
export type Credentials = Readonly<{
  accessKeyId: string;
  secretAccessKey: string;
  /** Of credentials that were lent for a time. */
  sessionToken?: string | undefined;
}>;

export type Signer = Readonly<{ credentials: Credentials; region: string }>;

export type Unsigned = Readonly<{
  method: string;
  host: string;
  /** As it stands in the request: encoded by `encodedPath`. */
  path: string;
  query: Readonly<Record<string, string>>;
  bodySha256: string;
  atMs: number;
}>;

export const sha256Of = (text: string): string => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer =>
  createHmac('sha256', key).update(text).digest();

/** What URLs leave alone and this signature does not. */
const encoded = (text: string): string =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );

export const encodedPath = (key: string): string => key.split('/').map(encoded).join('/');

/** In the order that is signed. */
export const encodedQuery = (query: Readonly<Record<string, string>>): string =>
  Object.entries(query)
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .sort()
    .join('&');

/** The headers that go with the request. */
export function signedHeaders(request: Unsigned, signer: Signer): Readonly<Record<string, string>> {
  const { accessKeyId, sessionToken } = signer.credentials;
  const at = `${new Date(request.atMs).toISOString().replace(/[-:]|\.\d+/g, '')}`;
  const headers = {
    host: request.host,
    'x-amz-content-sha256': request.bodySha256,
    'x-amz-date': at,
    ...(sessionToken === undefined ? {} : { 'x-amz-security-token': sessionToken }),
  };
  const names = Object.keys(headers).join(';');
  const lines = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`);
  const canonical = [
    ...[request.method, request.path, encodedQuery(request.query)],
    ...[lines.join(''), names, request.bodySha256],
  ].join('\n');
  const scope = `${at.slice(0, 8)}/${signer.region}/s3/aws4_request`;
  const signature = signatureOf(signer, scope, `${at}\n${scope}\n${sha256Of(canonical)}`);
  return {
    ...headers,
    authorization: `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`,
  };
}

function signatureOf({ credentials }: Signer, scope: string, text: string): string {
  const key = scope.split('/').reduce<string | Buffer>(hmac, `AWS4${credentials.secretAccessKey}`);
  return createHmac('sha256', key).update(`AWS4-HMAC-SHA256\n${text}`).digest('hex');
}
