import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ContentKeys } from '../../services/chassis/content/content-keys.ts';
import {
  createKeyDirectory,
  type SessionKeyStore,
} from '../../services/chassis/content/session-keys.ts';
import { tenantKeyFile } from '../../services/chassis/content/tenant-keys.ts';
import { useKeyedSalts } from '../../services/chassis/protocol/seal.ts';

type Rings = Readonly<Record<string, Readonly<{ current: string; keys: Record<string, string> }>>>;

export const newKey = (): string => randomBytes(32).toString('base64');

/** Tenants' keys in a file and sessions' keys in a directory, in a place of a test's own. */
export class KeyRing {
  readonly dir = mkdtempSync(join(tmpdir(), 'longrein-keys-'));
  readonly file = join(this.dir, 'tenants.yaml');
  readonly sessions = join(this.dir, 'sessions');
  readonly store: SessionKeyStore = createKeyDirectory(this.sessions);

  constructor(tenants: Rings = { '*': { current: 'one', keys: { one: newKey() } } }) {
    this.write(tenants);
  }

  write(tenants: Rings): void {
    writeFileSync(this.file, JSON.stringify({ tenants }));
  }

  /** As another process opens them: nothing is remembered. */
  open(): ContentKeys {
    return new ContentKeys(this.store, tenantKeyFile(this.file));
  }

  /** Of a process that was given no tenants' keys. */
  closed(): ContentKeys {
    return new ContentKeys(this.store, undefined);
  }

  remove(): void {
    useKeyedSalts(undefined);
    rmSync(this.dir, { recursive: true, force: true });
  }
}
