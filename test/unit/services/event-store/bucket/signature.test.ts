import { expect, test } from 'vitest';
import { sha256Of, signed } from '../../../../../services/event-store/bucket/signature.ts';

/** Requests that Amazon's documentation of the signature signs, with what it says comes out. */
const signer = {
  region: 'us-east-1',
  credentials: {
    accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
    secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  },
};
const request = {
  ...{ method: 'GET', url: new URL('https://examplebucket.s3.amazonaws.com/') },
  ...{ bodySha256: sha256Of(''), atMs: Date.UTC(2013, 4, 24) },
};

test.each([
  [{ lifecycle: '' }, 'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543'],
  [
    { prefix: 'J', 'max-keys': '2' },
    '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
  ],
])('a request for %j is signed as documented', async (query, signature) => {
  const url = new URL(`?${new URLSearchParams(query)}`, request.url);
  const { headers } = await signed({ ...request, url }, signer);
  expect(headers.authorization).toBe(
    `AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=${signature}`,
  );
});

test('credentials that were lent sign their token too', async () => {
  const credentials = { ...signer.credentials, sessionToken: 'lent' };
  const { headers } = await signed(request, { ...signer, credentials });
  expect(headers['x-amz-security-token']).toBe('lent');
  expect(headers.authorization).toContain('x-amz-date;x-amz-security-token,');
});
