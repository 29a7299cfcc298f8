import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

export type ReadDirectory = (path: string) => Promise<readonly Dirent[]>;

const entriesOf: ReadDirectory = (path) => readdir(path, { withFileTypes: true });

export const isMissing = (thrown: unknown): boolean =>
  (thrown as NodeJS.ErrnoException).code === 'ENOENT';

/**
 * All that lies below a directory, at any depth; links are not followed. What is deleted by others meanwhile is not there any
 * more. Throws what reading the directory itself throws, and what reading one below throws while it is there.
 */
export async function entriesBelow(
  directory: string,
  read: ReadDirectory = entriesOf,
): Promise<readonly Dirent[]> {
  const entries = await read(directory);
  const below: Dirent[] = [];
  for (const entry of entries) {
    below.push(entry);
    if (!entry.isDirectory()) continue;
    try {
      below.push(...(await entriesBelow(join(directory, entry.name), read)));
    } catch (thrown) {
      if (!isMissing(thrown)) throw thrown;
    }
  }
  return below;
}
