import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { LongreinError } from '../errors.ts';

/** Bodies too large for a record, by digest. Writing the same digest again changes nothing. */
export type BlobPort = Readonly<{
  put(digest: string, text: string): Promise<void>;
  /** Throws LongreinError BLOB_MISSING. */
  get(digest: string): Promise<string>;
}>;

const missing = (digest: string, cause?: unknown): LongreinError =>
  new LongreinError('BLOB_MISSING', `blob ${digest} is not in the blob store`, {
    fix: 'point LONGREIN_BLOB_DIR at the store that the session was written with, or use an export that holds it',
    retryable: true,
    cause,
  });

/** Blobs of one process: for tests, the simulation and replay from a file. */
export function createMemoryBlobs(): BlobPort & { entries(): ReadonlyMap<string, string> } {
  const blobs = new Map<string, string>();
  return {
    async put(digest, text) {
      blobs.set(digest, text);
    },
    async get(digest) {
      const text = blobs.get(digest);
      if (text === undefined) throw missing(digest);
      return text;
    },
    entries: () => blobs,
  };
}

/** A record names its blobs: what is no digest must not become a path. */
const isDigest = /^[0-9a-f]{64}$/;

const pathIn =
  (directory: string) =>
  (digest: string): string =>
    join(directory, digest.slice(0, 2), digest);

/** For erasures only: hosts never remove a blob. Answers whether it was there. */
export function removableBlobs(directory: string): { remove(digest: string): Promise<boolean> } {
  const pathOf = pathIn(directory);
  return {
    async remove(digest) {
      if (!isDigest.test(digest)) return false;
      try {
        await rm(pathOf(digest));
        return true;
      } catch (thrown) {
        if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return false;
        throw thrown;
      }
    },
  };
}

/** Blobs as files in a directory that all hosts share. A file is whole or not there. */
export function createDirectoryBlobs(directory: string): BlobPort {
  const pathOf = pathIn(directory);
  return {
    async put(digest, text) {
      const path = pathOf(digest);
      await mkdir(dirname(path), { recursive: true });
      const part = `${path}.${randomBytes(6).toString('hex')}.part`;
      await writeFile(part, text);
      await rename(part, path);
    },
    async get(digest) {
      if (!isDigest.test(digest)) throw missing(digest);
      try {
        return await readFile(pathOf(digest), 'utf8');
      } catch (thrown) {
        throw missing(digest, thrown);
      }
    },
  };
}
