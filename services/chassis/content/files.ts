/**
 * Images and files that models see. The log names the blob of each; the blob holds the bytes as a JSON text in base64, and
 * is called by the hash of that text.
 */

import type { ModelFile } from '../context/messages.ts';
import { LongreinError } from '../errors.ts';
import { sha256 } from '../protocol/hash.ts';
import type { BlobPort } from './blobs.ts';

/** More than any provider takes. */
export const fileBytesMax = 32 * 1_048_576;

const mediaTypes: Readonly<Record<string, string>> = {
  ...{ png: 'image/png', jpg: 'image/jpeg', jpeg: 'image/jpeg', gif: 'image/gif' },
  ...{ webp: 'image/webp', pdf: 'application/pdf', txt: 'text/plain' },
};

/** By the end of a file's name; undefined where that says nothing. */
export const mediaTypeOf = (name: string): string | undefined => {
  const [, end = ''] = /\.([^.]+)$/.exec(name.toLowerCase()) ?? [];
  return Object.hasOwn(mediaTypes, end) ? mediaTypes[end] : undefined;
};

/** Keeps the bytes, and gives what a message names them by. The same bytes are kept once. */
export async function putFile(
  blobs: BlobPort,
  { mediaType, bytes }: Readonly<{ mediaType: string; bytes: Buffer }>,
): Promise<ModelFile> {
  if (bytes.byteLength === 0 || bytes.byteLength > fileBytesMax) {
    const message = `a file for a model has 1 to ${fileBytesMax} bytes, and this one has ${bytes.byteLength}`;
    throw new LongreinError('FILE_SIZE', message, { fix: 'Make the file smaller, or cut it up.' });
  }
  const text = JSON.stringify(bytes.toString('base64'));
  const blob = sha256(text);
  await blobs.put(blob, text);
  return { mediaType, blob };
}
