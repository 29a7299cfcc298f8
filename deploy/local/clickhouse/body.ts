import type { IncomingMessage } from 'node:http';
import type { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { exception, toException } from './exception.ts';

const decoders: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/**
 * Counts the bytes of all bodies in memory, so that many large requests cannot fill it together.
 */
export class BodyReader {
  readonly #limits: Readonly<{ bodyBytesMax: number; heldBytesMax: number }>;
  #held = 0;

  constructor(limits: Readonly<{ bodyBytesMax: number; heldBytesMax: number }>) {
    this.#limits = limits;
  }

  /**
   * The body, decompressed. Throws code 307 above the limit, 202 when too much is held already, 354
   * for bytes that do not decompress. The caller gives the memory back with `release(body.length)`.
   */
  async read(request: IncomingMessage): Promise<Buffer> {
    if (Number(request.headers['content-length'] ?? 0) > this.#limits.bodyBytesMax)
      throw this.#tooLarge();
    const encoding = request.headers['content-encoding'] ?? 'identity';
    const decoder = decoders[encoding];
    if (decoder === undefined && encoding !== 'identity') {
      throw exception(
        48,
        `Content-Encoding "${encoding}" is not supported; use gzip, deflate or br`,
      );
    }
    const chunks: Buffer[] = [];
    const collect = (source: AsyncIterable<Buffer>) => this.#collect(source, chunks);
    try {
      await (decoder === undefined ? collect(request) : pipeline(request, decoder(), collect));
      return Buffer.concat(chunks);
    } catch (thrown) {
      for (const chunk of chunks) this.#held -= chunk.length;
      if ((thrown as NodeJS.ErrnoException).code?.startsWith('Z_') !== true)
        throw toException(thrown);
      throw exception(354, `The body is not ${encoding}`);
    }
  }

  release(bytes: number): void {
    this.#held -= bytes;
  }

  /**
   * Above the limit it reads on without keeping, so that the sender gets an answer and not a broken
   * pipe.
   */
  async #collect(source: AsyncIterable<Buffer>, chunks: Buffer[]): Promise<void> {
    let bytes = 0;
    let refused = false;
    for await (const chunk of source) {
      bytes += chunk.length;
      refused ||= bytes > this.#limits.bodyBytesMax;
      if (bytes > this.#limits.bodyBytesMax * 4) break;
      if (refused) continue;
      if (this.#held + chunk.length > this.#limits.heldBytesMax) {
        throw exception(202, 'Too many large requests at once; try again later');
      }
      this.#held += chunk.length;
      chunks.push(chunk);
    }
    if (refused) throw this.#tooLarge();
  }

  #tooLarge(): Error {
    const limit = this.#limits.bodyBytesMax;
    return exception(307, `The body is larger than ${limit} bytes; send it in smaller parts`);
  }
}

/** The text fields of a multipart form. Throws code 117. */
export async function formFields(
  body: Buffer,
  contentType: string,
): Promise<ReadonlyMap<string, string>> {
  const fields = new Map<string, string>();
  const headers = { 'content-type': contentType };
  try {
    const form = await new Response(body, { headers }).formData();
    for (const [name, value] of form)
      fields.set(name, typeof value === 'string' ? value : await value.text());
  } catch {
    throw exception(117, 'The multipart form cannot be read');
  }
  return fields;
}
