/** Contexts of sessions that failed, as files beside the blobs: written once by the event store, read by people. */
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Content } from '../../../schemas/event.ts';
import type { JsonObject, JsonValue } from '../../../schemas/json.ts';
import type { ContentKeys } from '../../chassis/content/content-keys.ts';
import { sealed } from '../../chassis/content/content-keys.ts';
import { LongreinError } from '../../chassis/errors.ts';
import { saltOf, sealContent } from '../../chassis/protocol/seal.ts';

/** What stands in such a file. The window is content: sealed where those of its session are. */
type KeptFile = Readonly<{ kept: 1; session: string; at: string; content: Content }>;

/** A name that could lead elsewhere is none. */
const isName = /^[\w-]{1,128}$/;

const directoryOf = (blobDir: string): string => join(blobDir, 'contexts');

export const contextPath = (blobDir: string, session: string, at: string): string =>
  join(directoryOf(blobDir), session, `${at}.json`);

const isMissing = (thrown: unknown): boolean => (thrown as NodeJS.ErrnoException).code === 'ENOENT';

async function entriesOf(directory: string): Promise<readonly string[]> {
  try {
    return (await readdir(directory)).sort();
  } catch (thrown) {
    if (isMissing(thrown)) return [];
    throw thrown;
  }
}

/** Paths of what was kept of a session, the oldest failure first. */
export async function keptOf(blobDir: string, session: string): Promise<readonly string[]> {
  if (!isName.test(session)) return [];
  const directory = join(directoryOf(blobDir), session);
  const names = (await entriesOf(directory)).filter((name) => name.endsWith('.json'));
  return names.map((name) => join(directory, name));
}

/** Keeps the document unless it is there. A file is whole or not there; a session that was erased leaves none. */
export async function keepContext(
  blobDir: string,
  document: JsonObject,
  keys: ContentKeys | undefined,
): Promise<string | undefined> {
  const { session, at } = document as Readonly<{ session: string; at: string }>;
  const path = contextPath(blobDir, session, at);
  if ((await keptOf(blobDir, session)).includes(path)) return path;
  const content = sealContent(saltOf(session), { mediaType: 'application/json', body: document });
  const seal = keys?.sealOf(session);
  const written = seal === undefined ? content : sealed(content, seal);
  if (written.body === undefined && written.sealed === undefined) return undefined;
  const file: KeptFile = { kept: 1, session, at, content: written };
  await mkdir(join(directoryOf(blobDir), session), { recursive: true });
  const part = `${path}.${randomBytes(6).toString('hex')}.part`;
  await writeFile(part, `${JSON.stringify(file, null, 2)}\n`);
  await rename(part, path);
  return path;
}

/** What was kept, out of its seal. Throws CONTEXT_KEPT_INVALID, and what the keys throw. */
export async function readKept(path: string, keys: ContentKeys): Promise<JsonValue> {
  const { content, session } = JSON.parse(await readFile(path, 'utf8')) as Partial<KeptFile>;
  if (content?.body !== undefined) return content.body;
  const open = session === undefined ? undefined : keys.openerOf(session);
  if (content?.sealed !== undefined && open !== undefined) return open(content, content.sealed);
  throw new LongreinError('CONTEXT_KEPT_INVALID', `${path} holds no context that can be read`, {
    fix: 'its session was erased, or the file is damaged; try `longrein replay context` on the session',
  });
}

/** Removes what is older than the log keeps its sessions. Answers how many sessions that were. */
export async function pruneKept(blobDir: string, beforeMs: number): Promise<number> {
  let pruned = 0;
  for (const session of await entriesOf(directoryOf(blobDir))) {
    const directory = join(directoryOf(blobDir), session);
    if ((await stat(directory)).mtimeMs >= beforeMs) continue;
    await rm(directory, { recursive: true, force: true });
    pruned += 1;
  }
  return pruned;
}
