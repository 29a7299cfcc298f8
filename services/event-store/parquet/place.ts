import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';

export type Written = Readonly<{ bytes: number; sha256: string }>;

/** Where an export lies: a directory, or a place in a bucket. Paths are within it and have forward slashes. */
export type ExportPlace = Readonly<{
  /** For people: the directory, or s3://… */
  name: string;
  /** undefined: nothing is there. */
  open(path: string): Promise<Readable | undefined>;
  /** Puts it there, over what was there, whole or not at all. */
  write(path: string, from: Readable): Promise<Written>;
  /** What is not there is fine. */
  remove(path: string): Promise<void>;
  /** Ends for ever what a bucket with versions keeps of files below these folders that were written over or removed. */
  forgetOlder(folders: readonly string[]): Promise<void>;
}>;

export const fullName = ({ name }: ExportPlace, path: string): string =>
  `${name.replace(/\/$/, '')}/${path}`;

/** All that is there; undefined: nothing is. */
export async function readWhole(place: ExportPlace, path: string): Promise<Buffer | undefined> {
  const stream = await place.open(path);
  return stream === undefined ? undefined : await buffer(stream);
}

export const writeText = (place: ExportPlace, path: string, text: string): Promise<Written> =>
  place.write(path, Readable.from([Buffer.from(text)], { objectMode: false }));

export function directoryPlace(directory: string): ExportPlace {
  return {
    name: directory,
    open: async (path) => {
      const target = join(directory, path);
      return existsSync(target) ? createReadStream(target) : undefined;
    },
    write: async (path, from) => {
      const target = join(directory, path);
      await mkdir(dirname(target), { recursive: true });
      const written = await writeCounted(from, `${target}.part`);
      await rename(`${target}.part`, target);
      return written;
    },
    remove: (path) => rm(join(directory, path), { force: true }),
    forgetOlder: async () => undefined,
  };
}

/** Writes a file of this user alone. Throws what the stream and the disk throw. */
export async function writeCounted(from: Readable, target: string): Promise<Written> {
  const hash = createHash('sha256');
  let bytes = 0;
  const counted = new PassThrough();
  counted.on('data', (chunk: Buffer) => {
    hash.update(chunk);
    bytes += chunk.length;
  });
  await pipeline(from, counted, createWriteStream(target));
  return { bytes, sha256: hash.digest('hex') };
}
