import { createHmac, randomBytes } from 'node:crypto';
import type { Content } from '../../../schemas/event.ts';
import type { JsonValue } from '../../../schemas/json.ts';
import { LongreinError } from '../errors.ts';
import { useKeyedSalts } from '../protocol/seal.ts';
import { keyBytes, openBytes, sealBytes } from './cipher.ts';
import { bare } from './contents.ts';
import type { ErasureMark, SessionKeyStore, WrappedKey } from './session-keys.ts';
import type { TenantKeySource } from './tenant-keys.ts';

/**
 * The content codec of a process (DESIGN 2): one key for each session and its goal log, wrapped by a key of its tenant.
 *
 * C1 A session has a key from its goal on, or never: what was begun open goes on open.
 * C2 Digests are over what was written and the salt, which comes from the key; so ids and decisions are the same with
 *    and without a cipher, and nobody can guess what was written once the key is gone.
 */

/** What the header `lr_codec` says. */
export const contentCodec = 'aes-256-gcm';

/** Text for the place of a body; undefined where the session was erased and nothing of it is kept any more. */
export type ContentSeal = (content: Content) => string | undefined;

/** What the sealed text says. Throws LongreinError CONTENT_CHANGED. */
export type ContentOpener = (content: Content, sealed: string) => JsonValue;

type SessionKey = Readonly<{ key: Buffer; salt: string }>;
type Known = SessionKey | 'none' | 'erased';

/** So many sessions are remembered; those that were learned first are forgotten first. */
const knownMax = 100_000;

/** Salts of sessions with a key, whoever in this process learned it. */
const salts = new Map<string, string>();

/** Those that were learned first make room. */
function put<T>(map: Map<string, T>, name: string, value: T): void {
  if (map.size >= knownMax)
    for (const oldest of map.keys()) {
      map.delete(oldest);
      break;
    }
  map.set(name, value);
}

const goalPrefix = 'goal_';

/** The session whose key a log is sealed with: a goal's own log shares that of its session. */
export const keyOwnerOf = (log: string): string =>
  log.startsWith(goalPrefix) ? log.slice(goalPrefix.length) : log;

const placeOfKey = ({ session, tenant, key }: Omit<WrappedKey, 'wrapped'>): string =>
  `longrein session key ${session} of ${tenant} under ${key}`;

const placeOfContent = (log: string, { digest }: Content): string => `${log} ${digest}`;

const unsealed = (key: Buffer): SessionKey => ({
  key,
  salt: createHmac('sha256', key).update('longrein content salt').digest('hex'),
});

const noTenantKeys = (session: string): LongreinError =>
  new LongreinError('CONTENT_KEYS_NEEDED', `the contents of ${session} are sealed`, {
    fix: 'set LONGREIN_TENANT_KEYS_FILE or LONGREIN_TENANT_KEYS_COMMAND, and LONGREIN_SESSION_KEYS_DIR, as its hosts have them',
    retryable: true,
  });

const noSessionKey = (session: string): LongreinError =>
  new LongreinError('SESSION_KEY_MISSING', `there is no key of ${session} here`, {
    fix: 'let LONGREIN_SESSION_KEYS_DIR name the directory that its hosts share, or restore it from a copy',
    retryable: true,
  });

const notOpened = (what: string): LongreinError =>
  new LongreinError('CONTENT_CHANGED', `${what} does not open with its key`, {
    fix: 'it was changed after it was sealed, or stands at another place than it was sealed for; take another copy',
  });

export type Rewrapped = Readonly<{ keys: number; rewrapped: number }>;

export class ContentKeys {
  private readonly store: SessionKeyStore;
  private readonly tenants: TenantKeySource | undefined;
  private readonly known = new Map<string, Known>();

  /** Without `tenants` nothing is sealed, and what was sealed cannot be opened; marks of erasures are known all the same. */
  constructor(store: SessionKeyStore, tenants: TenantKeySource | undefined) {
    this.store = store;
    this.tenants = tenants;
    if (tenants !== undefined) useKeyedSalts((log) => this.saltOf(log));
  }

  /** Whether new sessions may get keys here. */
  get enabled(): boolean {
    return this.tenants !== undefined;
  }

  /**
   * Makes the key of a goal's log and session, where its tenant has keys and there is none yet. Answers whether the log
   * is sealed from now on. Throws retryable errors of the store and of the tenant's keys.
   */
  begin(log: string, tenant: string): boolean {
    const owner = keyOwnerOf(log);
    const known = this.of(owner);
    if (known !== 'none') return true;
    const keys = this.tenants?.keysOf(tenant);
    if (keys === undefined) return false;
    const head = { session: owner, tenant, key: keys.current };
    const own = randomBytes(keyBytes);
    const wrapped = this.wrap(head, own);
    const added = this.store.add({ ...head, wrapped });
    this.remember(owner, added === undefined ? 'erased' : this.unwrap(added));
    return true;
  }

  /** What seals contents of a log; undefined where they stand open. Throws as `begin`. */
  sealOf(log: string): ContentSeal | undefined {
    if (this.tenants === undefined) return undefined;
    const known = this.of(keyOwnerOf(log));
    if (known === 'none') return undefined;
    if (known === 'erased') return () => undefined;
    return (content) =>
      sealBytes(known.key, placeOfContent(log, content), JSON.stringify(content.body)).toString(
        'base64',
      );
  }

  /** Whether nothing of this log may stand anywhere but sealed; so also while nobody can say. */
  isSealed(log: string): boolean {
    return this.enabled && this.knownWithoutThrowing(keyOwnerOf(log)) !== 'none';
  }

  /**
   * What opens sealed contents of a log; undefined where the session was erased. Throws CONTENT_KEYS_NEEDED or
   * SESSION_KEY_MISSING, both retryable, and as `begin`.
   */
  openerOf(log: string): ContentOpener | undefined {
    const owner = keyOwnerOf(log);
    const known = this.of(owner, true);
    if (known === 'erased') return undefined;
    if (known === 'none') throw this.enabled ? noSessionKey(owner) : noTenantKeys(owner);
    return (content, sealed) => {
      const bytes = openBytes(
        known.key,
        placeOfContent(log, content),
        Buffer.from(sealed, 'base64'),
      );
      if (bytes === undefined) throw notOpened(`content ${content.digest} of ${log}`);
      return JSON.parse(bytes.toString('utf8')) as JsonValue;
    };
  }

  /** Whether the session has a key here, or had one that was dropped. */
  knows(session: string): boolean {
    return this.store.get(session) !== undefined || this.store.markOf(session) !== undefined;
  }

  /** Who had the session of this log erased; undefined where nobody had. */
  erasureOf(log: string): ErasureMark | undefined {
    return this.store.markOf(keyOwnerOf(log));
  }

  /** Drops a session's key for ever. Answers the mark that stands: of several erasures the first. */
  erase(mark: ErasureMark): ErasureMark {
    const stands = this.store.erase(mark);
    this.remember(mark.session, 'erased');
    return stands;
  }

  /** Sessions of this tenant that have a key. */
  sessionsOf(tenant: string): readonly string[] {
    return [...this.store.all()].filter((one) => one.tenant === tenant).map((one) => one.session);
  }

  /** How many sessions' keys are wrapped with which key, by tenant. */
  counts(): readonly Readonly<{
    tenant: string;
    key: string;
    sessions: number;
    current: boolean;
  }>[] {
    const found = new Map<string, { tenant: string; key: string; sessions: number }>();
    for (const { tenant, key } of this.store.all()) {
      const name = JSON.stringify([tenant, key]);
      const one = found.get(name) ?? { tenant, key, sessions: 0 };
      found.set(name, { ...one, sessions: one.sessions + 1 });
    }
    return [...found.values()].map((one) => ({
      ...one,
      current: this.tenants?.keysOf(one.tenant)?.current === one.key,
    }));
  }

  /** Wraps every session's key with the current key of its tenant; contents stay as they are. Throws as `openerOf`. */
  rewrap(tenant?: string): Rewrapped {
    let [keys, rewrapped] = [0, 0];
    for (const one of this.store.all()) {
      if (tenant !== undefined && one.tenant !== tenant) continue;
      keys += 1;
      const current = this.tenants?.keysOf(one.tenant)?.current;
      if (current === undefined || current === one.key) continue;
      const head = { session: one.session, tenant: one.tenant, key: current };
      this.store.replace({ ...head, wrapped: this.wrap(head, this.unwrap(one).key) });
      rewrapped += 1;
    }
    return { keys, rewrapped };
  }

  private of(owner: string, again = false): Known {
    const known = this.known.get(owner);
    if (known !== undefined && !(again && known === 'none')) return known;
    return this.remember(owner, this.read(owner));
  }

  private read(owner: string): Known {
    const wrapped = this.store.get(owner);
    if (wrapped === undefined) return this.store.markOf(owner) === undefined ? 'none' : 'erased';
    if (this.tenants === undefined) throw noTenantKeys(owner);
    return this.unwrap(wrapped);
  }

  private remember(owner: string, known: Known): Known {
    put(this.known, owner, known);
    if (typeof known === 'object') put(salts, owner, known.salt);
    return known;
  }

  /** Undefined where there is no key. */
  private saltOf(log: string): string | undefined {
    const owner = keyOwnerOf(log);
    const salt = salts.get(owner);
    if (salt !== undefined) return salt;
    const known = this.knownWithoutThrowing(owner);
    return typeof known === 'object' ? known.salt : undefined;
  }

  /** A salt is asked for inside decisions. Who decides has read the session, so its key is remembered here. */
  private knownWithoutThrowing(owner: string): Known | undefined {
    try {
      return this.of(owner);
    } catch (thrown) {
      if (thrown instanceof LongreinError && thrown.retryable) return undefined;
      throw thrown;
    }
  }

  private tenantKey(head: Omit<WrappedKey, 'wrapped'>): Buffer {
    const { tenant, key } = head;
    const found =
      this.tenants?.keysOf(tenant)?.keys.get(key) ??
      this.tenants?.keysOf(tenant, true)?.keys.get(key);
    if (found !== undefined) return found;
    const origin = this.tenants?.origin ?? 'the tenant keys';
    throw new LongreinError('TENANT_KEY_UNKNOWN', `${origin} lack key ${key} of tenant ${tenant}`, {
      fix: `put key ${key} back, and wrap with the current one (longrein keys rewrap) before you take it away`,
      retryable: true,
    });
  }

  private wrap(head: Omit<WrappedKey, 'wrapped'>, own: Buffer): string {
    return sealBytes(this.tenantKey(head), placeOfKey(head), own).toString('base64');
  }

  private unwrap(key: WrappedKey): SessionKey {
    const sealed = Buffer.from(key.wrapped, 'base64');
    const own = openBytes(this.tenantKey(key), placeOfKey(key), sealed);
    if (own === undefined) throw notOpened(`the key of ${key.session}`);
    return unsealed(own);
  }
}

/** The content as it stands in a record: sealed, or without anything where it was erased. */
export function sealed(content: Content, seal: ContentSeal): Content {
  if (content.body === undefined) return content;
  const text = seal(content);
  return text === undefined ? bare(content) : { ...bare(content), sealed: text };
}
