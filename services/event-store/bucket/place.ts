import { createReadStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { type ExportPlace, type Written, writeCounted } from '../parquet/place.ts';
import type { BucketAddress } from './address.ts';
import { done, keepsVersions, olderVersions } from './objects.ts';
import { ask } from './request.ts';

/** A place in a bucket. This process asks it itself: ClickHouse learns no credentials, and needs no way there. */
export function bucketPlace(address: BucketAddress): ExportPlace {
  return {
    name: `s3://${address.bucket}/${address.prefix}`.replace(/\/$/, ''),
    open: (key) => ask(address, { method: 'GET', key }),
    write: (key, from) => write(address, key, from),
    remove: async (key) => await done(await ask(address, { method: 'DELETE', key })),
    forgetOlder: async (folders) => {
      if (!(await keepsVersions(address))) return;
      for (const folder of folders) {
        for (const request of await olderVersions(address, folder))
          await done(await ask(address, request));
      }
    },
  };
}

/** An object is replaced whole when all of it has come and has this hash. That is known once the file is written. */
async function write(address: BucketAddress, key: string, from: Readable): Promise<Written> {
  const directory = await mkdtemp(join(tmpdir(), 'longrein-bucket-'));
  try {
    const path = join(directory, 'object');
    const written = await writeCounted(from, path);
    const body = { ...written, open: () => createReadStream(path) };
    await done(await ask(address, { method: 'PUT', key, body }));
    return written;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
