import { createHash } from 'node:crypto';
import { AwsV4Signer } from 'aws4fetch';

/** Signature version 4 of Amazon, as S3 and the servers that speak its protocol ask for it; a library makes it. */
export type Credentials = Readonly<{
  accessKeyId: string;
  secretAccessKey: string;
  /** Of credentials that were lent for a time. */
  sessionToken?: string | undefined;
}>;

export type Signer = Readonly<{ credentials: Credentials; region: string }>;

export type Unsigned = Readonly<{
  method: string;
  /** With path and query, encoded. */
  url: URL;
  bodySha256: string;
  atMs: number;
}>;

export const sha256Of = (text: string): string => createHash('sha256').update(text).digest('hex');

/** `path` is what was signed, with the query: it has to be sent letter by letter. The connection adds the host. */
export type Signed = Readonly<{ path: string; headers: Readonly<Record<string, string>> }>;

export async function signed(
  { method, url, bodySha256, atMs }: Unsigned,
  { credentials, region }: Signer,
): Promise<Signed> {
  const { accessKeyId, secretAccessKey, sessionToken } = credentials;
  const signer = new AwsV4Signer({
    ...{ method, url: url.href, headers: { 'x-amz-content-sha256': bodySha256 } },
    ...{ service: 's3', region, accessKeyId, secretAccessKey },
    ...(sessionToken === undefined ? {} : { sessionToken }),
    datetime: new Date(atMs).toISOString().replace(/[-:]|\.\d+/g, ''),
  });
  const { headers } = await signer.sign();
  const { encodedPath, encodedSearch } = signer;
  const path = encodedSearch === '' ? encodedPath : `${encodedPath}?${encodedSearch}`;
  return { path, headers: Object.fromEntries(headers) };
}
