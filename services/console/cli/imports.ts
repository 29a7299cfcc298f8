/** Sessions that were imported: one exported file each, in the state directory. */

import { copyFile, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { LongreinError, toError } from '../../chassis/errors.ts';
import { localSettings } from './config.ts';
import type { Environment } from './terminal.ts';

const directoryOf = (environment: Environment): string =>
  join(localSettings(environment).stateDir, 'imports');

async function filesIn(directory: string): Promise<readonly string[]> {
  try {
    return (await readdir(directory)).filter((name) => name.endsWith('.jsonl')).sort();
  } catch (thrown) {
    const error = toError(thrown) as NodeJS.ErrnoException;
    if (error.code === 'ENOENT') return [];
    throw error;
  }
}

/** Keeps a copy of an export that was read whole. Answers where. */
export async function keepImport(
  environment: Environment,
  session: string,
  path: string,
): Promise<string> {
  const directory = directoryOf(environment);
  await mkdir(directory, { recursive: true });
  const kept = join(directory, `${session}.jsonl`);
  await copyFile(path, kept);
  return kept;
}

/** The file of an imported session, by its id or the start of it. Throws SESSION_UNKNOWN, SESSION_AMBIGUOUS. */
export async function importedFile(environment: Environment, id: string): Promise<string> {
  const directory = directoryOf(environment);
  const found = (await filesIn(directory)).filter((name) => name.startsWith(id) && id !== '');
  if (found.length === 1) return join(directory, String(found[0]));
  const code = found.length === 0 ? 'SESSION_UNKNOWN' : 'SESSION_AMBIGUOUS';
  const what =
    found.length === 0 ? 'no imported session begins' : 'several imported sessions begin';
  throw new LongreinError(code, `${what} with "${id}"`, {
    fix: 'Name the file itself (--file session.jsonl), or import it: longrein replay import.',
  });
}
