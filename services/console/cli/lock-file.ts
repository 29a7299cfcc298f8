/** The lock file that the demo audits: looked at before anything starts, put where tools may read. */
import { createHash } from 'node:crypto';
import { mkdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { basename, isAbsolute, join, relative, resolve } from 'node:path';
import { errorCode } from '../../../deploy/local/files.ts';
import { LongreinError, toError } from '../../chassis/errors.ts';
import { bytes } from './figures.ts';

export interface LockFile {
  /** Path for the tool, relative to the workspace. */
  readonly path: string;
  /** The file as it was named. */
  readonly source: string;
  readonly packages: number;
}

/** The tool that reads it hands on no more. */
const bytesMax = 4_194_304;

/** Looks at the file. Throws LOCK_FILE with what is wrong; touches nothing. */
export async function readLockFile(path: string): Promise<{ text: string; packages: number }> {
  const text = await read(path);
  if (Buffer.byteLength(text) > bytesMax) {
    const size = `${bytes(Buffer.byteLength(text))}, and at most ${bytes(bytesMax)} are read`;
    throw bad(path, `has ${size}`, 'Choose a smaller lock file.');
  }
  return { text, packages: packagesIn(path, parse(path, text)) };
}

/** Makes the file readable for file tools: as it is inside the workspace, else as a copy. */
export async function placeLockFile(path: string, workspaceDir: string): Promise<LockFile> {
  const { text, packages } = await readLockFile(path);
  const source = resolve(path);
  const inside = relative(await realpath(workspaceDir), await realpath(source));
  if (inside !== '' && !inside.startsWith('..') && !isAbsolute(inside)) {
    return { path: inside.replaceAll('\\', '/'), source, packages };
  }
  // The same file always goes to the same place, under its own name, which stands in the report.
  const digest = createHash('sha256').update(text).digest('hex').slice(0, 12);
  const folder = join('.longrein', 'inbox', digest);
  await mkdir(join(workspaceDir, folder), { recursive: true });
  await writeFile(join(workspaceDir, folder, basename(source)), text);
  const copy = join(folder, basename(source)).replaceAll('\\', '/');
  return { path: copy, source, packages };
}

async function read(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (thrown) {
    const code = errorCode(thrown);
    if (code === 'ENOENT')
      throw bad(path, 'does not exist', 'Give the path of a package-lock.json.');
    if (code === 'EISDIR') {
      throw bad(path, 'is a directory', `Give the file: --path ${join(path, 'package-lock.json')}`);
    }
    throw bad(path, `cannot be read: ${toError(thrown).message}`, 'Check its permissions.');
  }
}

function parse(path: string, text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, '')) as unknown;
  } catch (thrown) {
    throw bad(path, `is not JSON: ${toError(thrown).message}`, 'Give a package-lock.json of npm.');
  }
}

const writeFix = 'Write one with: npm install --package-lock-only --lockfile-version 3';

function packagesIn(path: string, value: unknown): number {
  if (typeof value !== 'object' || value === null || !('lockfileVersion' in value)) {
    throw bad(path, 'is not a lock file of npm (it has no lockfileVersion)', writeFix);
  }
  const version = value.lockfileVersion;
  if (version !== 2 && version !== 3) {
    const said = JSON.stringify(version);
    throw bad(path, `is a lock file of version ${said}; 2 and 3 can be audited`, writeFix);
  }
  const packages = 'packages' in value ? value.packages : undefined;
  if (typeof packages !== 'object' || packages === null) {
    throw bad(path, 'has no list "packages"', writeFix);
  }
  return Object.keys(packages).filter((name) => name.includes('node_modules/')).length;
}

function bad(path: string, what: string, fix: string): LongreinError {
  return new LongreinError('LOCK_FILE', `${path} ${what}`, { fix });
}
