/** Files of a conversation: the log names blobs, a provider gets their bytes. */

import type { BlobPort } from '../chassis/content/blobs.ts';
import { LongreinError } from '../chassis/errors.ts';
import type { ModelFile, ModelMessage } from './providers/port.ts';

async function read(file: ModelFile, blobs: BlobPort): Promise<ModelFile> {
  const body: unknown = JSON.parse(await blobs.get(file.blob));
  if (typeof body === 'string') return { ...file, base64: body };
  throw new LongreinError('BLOB_INVALID', `blob ${file.blob} holds no bytes in base64`, {
    fix: 'Store the file as a JSON text of its bytes in base64.',
  });
}

/** The messages with the bytes of their files. Throws LongreinError BLOB_MISSING or BLOB_INVALID. */
export function withFiles(
  messages: readonly ModelMessage[],
  blobs: BlobPort,
): Promise<readonly ModelMessage[]> {
  return Promise.all(
    messages.map(async (message) => {
      if (message.role !== 'user' || message.files === undefined) return message;
      return { ...message, files: await Promise.all(message.files.map((one) => read(one, blobs))) };
    }),
  );
}
