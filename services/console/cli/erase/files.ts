/** Copies of a session in files: exports that somebody made, and imports that were kept. */
import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { LongreinError, toError } from '../../../chassis/errors.ts';
import { entriesBelow, isMissing } from './tree.ts';

/** The session of an exported file, or the one whose past a fork shares; undefined where it is another file. */
async function sessionIn(path: string): Promise<string | undefined> {
  const lines = createInterface({ input: createReadStream(path, { encoding: 'utf8' }) });
  try {
    for await (const line of lines) {
      const head = /^\{"sum":"[^"]*","item":(\{"export":.*\})\}$/.exec(line)?.[1];
      if (head === undefined) return undefined;
      const { session, fork } = JSON.parse(head) as { session?: string; fork?: { of?: string } };
      return (fork?.of ?? session)?.replace(/^goal_/, '');
    }
    return undefined;
  } catch (thrown) {
    if (isMissing(thrown)) return undefined;
    throw unreadable(path, thrown);
  } finally {
    lines.close();
  }
}

const unreadable = (path: string, thrown: unknown): LongreinError =>
  new LongreinError('EXPORTS_UNREADABLE', `${path} cannot be read: ${toError(thrown).message}`, {
    fix: 'name directories that this user may read and change, then erase again',
  });

/** `mayBeMissing`: nobody has to have imported anything. */
async function exportsIn(directory: string, mayBeMissing: boolean): Promise<readonly string[]> {
  try {
    const all = await entriesBelow(directory);
    return all
      .filter((entry) => entry.isFile() && entry.name.endsWith('.jsonl'))
      .map((entry) => join(entry.parentPath, entry.name));
  } catch (thrown) {
    if (isMissing(thrown) && mayBeMissing) return [];
    throw unreadable(directory, thrown);
  }
}

/** Files with copies of sessions, by session. Throws EXPORTS_UNREADABLE. */
export async function copiesIn(
  imports: string,
  exports: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const found = new Map<string, string[]>();
  const kept = await exportsIn(imports, true);
  const others = await Promise.all(exports.map((one) => exportsIn(one, false)));
  for (const path of new Set([...kept, ...others.flat()])) {
    const session = await sessionIn(path);
    if (session !== undefined) found.set(session, [...(found.get(session) ?? []), path]);
  }
  return found;
}

export async function removeFiles(paths: readonly string[]): Promise<number> {
  for (const path of paths) await rm(path, { force: true });
  return paths.length;
}
