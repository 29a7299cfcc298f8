import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { LongreinError, toError } from '../errors.ts';

/**
 * Keys of sessions, wrapped, as files in a directory that all hosts share, as they share the blobs. A file is what can be
 * deleted at once: a topic keeps what it was told until it is compacted.
 *
 * K1 A key is made once: of two that are made at the same time one wins, for everybody.
 * K2 Where the mark of an erasure stands there is no key, and none is made any more.
 */

/** A session's key as it lies there: `wrapped` is in base64. */
export type WrappedKey = Readonly<{
  session: string;
  tenant: string;
  /** Id of the tenant's key that it is wrapped with. */
  key: string;
  wrapped: string;
}>;

/** Who had a session erased, when, and why. Times in milliseconds since 1970. */
export type ErasureMark = Readonly<{
  session: string;
  tenant: string;
  by: string;
  reason: string;
  atMs: number;
}>;

export type SessionKeyStore = Readonly<{
  get(session: string): WrappedKey | undefined;
  /** Puts the key there and answers it, or the one that was there before; undefined where the session was erased. */
  add(key: WrappedKey): WrappedKey | undefined;
  /** Puts the same key there, wrapped otherwise; not where it is gone meanwhile. */
  replace(key: WrappedKey): void;
  /** Drops the key and leaves the mark. Answers the mark that stands there: the first one stays. */
  erase(mark: ErasureMark): ErasureMark;
  markOf(session: string): ErasureMark | undefined;
  all(): Iterable<WrappedKey>;
}>;

const plainName = /^[A-Za-z0-9_-]{1,120}$/;

function unusable(path: string, thrown: unknown): LongreinError {
  const message = `${path} cannot be used: ${toError(thrown).message}`;
  return new LongreinError('SESSION_KEYS_UNREADABLE', message, {
    fix: 'let LONGREIN_SESSION_KEYS_DIR name the directory that all hosts share, with rights to read and write',
    retryable: true,
    cause: thrown,
  });
}

function read<T>(path: string): T | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as T;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw unusable(path, thrown);
  }
}

/** Writes a file of its own beside the path, on the disk and not only on the way there, and lets `place` put it there. */
function write(path: string, value: object, place: (part: string) => void): void {
  const part = `${path}.${randomBytes(6).toString('hex')}.part`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const file = openSync(part, 'wx', 0o600);
    writeSync(file, `${JSON.stringify(value)}\n`);
    fsyncSync(file);
    closeSync(file);
    place(part);
  } catch (thrown) {
    throw unusable(path, thrown);
  } finally {
    rmSync(part, { force: true });
  }
}

/** Answers whether it was the first. */
function writeFirst(path: string, value: object): boolean {
  let first = true;
  write(path, value, (part) => {
    try {
      linkSync(part, path);
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown;
      first = false;
    }
  });
  return first;
}

class KeyDirectory implements SessionKeyStore {
  private readonly directory: string;

  constructor(directory: string) {
    this.directory = directory;
  }

  private pathOf(session: string, ending: 'key' | 'erased'): string {
    const name = plainName.test(session) ? session : Buffer.from(session).toString('base64url');
    return join(this.directory, name.slice(-2), `${name}.${ending}.json`);
  }

  get(session: string): WrappedKey | undefined {
    return read<WrappedKey>(this.pathOf(session, 'key'));
  }

  add(key: WrappedKey): WrappedKey | undefined {
    if (this.markOf(key.session) !== undefined) return undefined;
    const path = this.pathOf(key.session, 'key');
    const added = writeFirst(path, key) ? key : this.get(key.session);
    return this.withdrawn(key.session, path) ? undefined : added;
  }

  replace(key: WrappedKey): void {
    const path = this.pathOf(key.session, 'key');
    if (!existsSync(path)) return;
    write(path, key, (part) => renameSync(part, path));
    this.withdrawn(key.session, path);
  }

  /** An erasure that came meanwhile stands (K2). */
  private withdrawn(session: string, path: string): boolean {
    if (this.markOf(session) === undefined) return false;
    rmSync(path, { force: true });
    return true;
  }

  erase(mark: ErasureMark): ErasureMark {
    const path = this.pathOf(mark.session, 'erased');
    const first = writeFirst(path, mark);
    rmSync(this.pathOf(mark.session, 'key'), { force: true });
    return first ? mark : (this.markOf(mark.session) ?? mark);
  }

  markOf(session: string): ErasureMark | undefined {
    return read<ErasureMark>(this.pathOf(session, 'erased'));
  }

  *all(): Iterable<WrappedKey> {
    if (!existsSync(this.directory)) return;
    for (const part of readdirSync(this.directory).sort()) {
      for (const name of readdirSync(join(this.directory, part)).sort()) {
        const key = name.endsWith('.key.json')
          ? read<WrappedKey>(join(this.directory, part, name))
          : undefined;
        if (key !== undefined) yield key;
      }
    }
  }
}

/** Keys in this directory, which is made when the first one comes. Each call throws SESSION_KEYS_UNREADABLE (retryable). */
export const createKeyDirectory = (directory: string): SessionKeyStore =>
  new KeyDirectory(directory);
