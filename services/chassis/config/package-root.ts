import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

function find(directory: string): string {
  const file = join(directory, 'package.json');
  if (existsSync(file)) {
    const { name } = JSON.parse(readFileSync(file, 'utf8')) as { name?: string };
    if (name === 'longrein') return directory;
  }
  const parent = dirname(directory);
  if (parent === directory) throw new Error('the package root of longrein was not found');
  return find(parent);
}

/** The directory of this package: files that are not code are found from here, from sources and from the build alike. */
export const packageRoot = find(dirname(fileURLToPath(import.meta.url)));

/** The release that goes into records. */
export const release = (
  JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { version: string }
).version;
