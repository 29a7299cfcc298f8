import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import {
  type BlobPort,
  createDirectoryBlobs,
  createMemoryBlobs,
} from '../../../../../services/chassis/content/blobs.ts';

const root = mkdtempSync(join(tmpdir(), 'longrein-blobs-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let directories = 0;
const freshDirectory = (): string => join(root, String(++directories));
const digest = 'ab'.repeat(32);

const kinds: readonly (readonly [string, () => BlobPort])[] = [
  ['in memory', createMemoryBlobs],
  ['in a directory', () => createDirectoryBlobs(freshDirectory())],
];

describe.each(kinds)('blobs %s', (_name, create) => {
  test('come back as they were put, whatever stands in them', async () => {
    const blobs = create();
    const body = JSON.stringify({ text: 'é€😀\n\u0000', lone: '\ud800' });
    await blobs.put(digest, body);
    expect(await blobs.get(digest)).toBe(body);
  });

  test('may be put again', async () => {
    const blobs = create();
    await blobs.put(digest, '1');
    await Promise.all([blobs.put(digest, '1'), blobs.put(digest, '1')]);
    expect(await blobs.get(digest)).toBe('1');
  });

  test('that are missing are named, with what to do; they may come', async () => {
    await expect(create().get(digest)).rejects.toMatchObject({
      code: 'BLOB_MISSING',
      message: expect.stringContaining(digest),
      fix: expect.stringContaining('LONGREIN_BLOB_DIR'),
      retryable: true,
    });
  });
});

describe('a directory of blobs', () => {
  test('holds whole files under their digests and nothing else', async () => {
    const directory = freshDirectory();
    const blobs = createDirectoryBlobs(directory);
    await Promise.all(Array.from({ length: 20 }, () => blobs.put(digest, 'x'.repeat(100_000))));
    expect(readdirSync(directory)).toEqual(['ab']);
    expect(readdirSync(join(directory, 'ab'))).toEqual([digest]);
  });

  test('is shared: what one process puts, another gets', async () => {
    const directory = freshDirectory();
    await createDirectoryBlobs(directory).put(digest, 'shared');
    expect(await createDirectoryBlobs(directory).get(digest)).toBe('shared');
  });

  test('that cannot be written says so', async () => {
    const file = join(root, 'a-file');
    writeFileSync(file, '');
    await expect(createDirectoryBlobs(file).put(digest, 'x')).rejects.toThrow(/ENOTDIR|EEXIST/);
  });

  test('gives out no file that is not a blob', async () => {
    const directory = freshDirectory();
    writeFileSync(join(root, 'secret.txt'), 'secret');
    const blobs = createDirectoryBlobs(directory);
    for (const name of ['ab/../../../secret.txt', '..', `${digest}/../../../../secret.txt`, ''])
      await expect(blobs.get(name), name).rejects.toMatchObject({ code: 'BLOB_MISSING' });
  });
});
