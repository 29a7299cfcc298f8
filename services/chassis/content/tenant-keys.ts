import { execFileSync } from 'node:child_process';
import { hkdfSync } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { LongreinError, toError } from '../errors.ts';
import { keyBytes } from './cipher.ts';

/**
 * The keys that keys of sessions are wrapped with: from a file, or from an external command that asks a key management
 * service. A tenant that neither names has no key: its contents stand open.
 */

/** A tenant's keys by id; new sessions get the current one. */
export type TenantKeys = Readonly<{ current: string; keys: ReadonlyMap<string, Buffer> }>;

export type TenantKeySource = Readonly<{
  /** Where they come from, for messages. Never the keys. */
  origin: string;
  /**
   * The keys of a tenant; undefined where it has none. `fresh` asks again what was asked before. Throws LongreinError
   * TENANT_KEYS_UNREADABLE (retryable) or TENANT_KEYS_INVALID (retryable: whoever mends it needs no restart).
   */
  keysOf(tenant: string, fresh?: boolean): TenantKeys | undefined;
}>;

const ringSchema = z.object({
  current: z.string().min(1).max(100),
  keys: z.record(z.string().min(1).max(100), z.string()),
});
const fileSchema = z.object({ tenants: z.record(z.string(), ringSchema) });

/** Stands for every tenant that is not named: each gets keys of its own that are derived from these. */
const everyone = '*';

const howTo =
  'write `tenants: { NAME: { current: ID, keys: { ID: KEY } } }`, each KEY as `openssl rand -base64 32` prints it';

const invalid = (origin: string, problem: string): LongreinError =>
  new LongreinError('TENANT_KEYS_INVALID', `${origin}: ${problem}`, {
    fix: howTo,
    retryable: true,
  });

const unreadable = (origin: string, thrown: unknown, fix: string): LongreinError =>
  new LongreinError('TENANT_KEYS_UNREADABLE', `${origin}: ${toError(thrown).message}`, {
    fix,
    retryable: true,
  });

function keyOf(text: string, at: { origin: string; tenant: string; id: string }): Buffer {
  const key = Buffer.from(text, 'base64');
  if (key.length === keyBytes) return key;
  const what = `key ${at.id} of tenant ${at.tenant} has ${key.length} bytes, not ${keyBytes}`;
  throw invalid(at.origin, what);
}

function ringOf(ring: z.infer<typeof ringSchema>, origin: string, tenant: string): TenantKeys {
  const pairs = Object.entries(ring.keys).map(
    ([id, text]) => [id, keyOf(text, { origin, tenant, id })] as const,
  );
  const keys = new Map(pairs);
  if (!keys.has(ring.current))
    throw invalid(
      origin,
      `the current key ${ring.current} of tenant ${tenant} is not among its keys`,
    );
  return { current: ring.current, keys };
}

/** Of one key for all, a key for each. */
function derived({ current, keys }: TenantKeys, tenant: string): TenantKeys {
  const own = [...keys].map(([id, key]) => {
    const bytes = hkdfSync('sha256', key, '', `longrein tenant ${tenant}`, keyBytes);
    return [id, Buffer.from(bytes)] as const;
  });
  return { current, keys: new Map(own) };
}

function parsed<T>(text: string, schema: z.ZodType<T>, origin: string): T {
  let data: unknown;
  try {
    data = parse(text);
  } catch {
    // What the parser says quotes the line, which may be a key.
    throw invalid(origin, 'it is neither YAML nor JSON');
  }
  const checked = schema.safeParse(data);
  if (checked.success) return checked.data;
  const places = checked.error.issues.map(({ path }) => path.join('.') || 'the whole').join(', ');
  throw invalid(origin, `it has not the form of tenant keys: ${places}`);
}

/** A file that is read again when it was changed: a rotation needs no restart. */
export function tenantKeyFile(path: string): TenantKeySource {
  const origin = `the tenant keys in ${path}`;
  let known: Readonly<{ mark: string; rings: ReadonlyMap<string, TenantKeys> }> | undefined;
  const read = (): ReadonlyMap<string, TenantKeys> => {
    try {
      const { mtimeMs, size, ino } = statSync(path);
      const mark = `${mtimeMs}/${size}/${ino}`;
      if (known?.mark === mark) return known.rings;
      const { tenants } = parsed(readFileSync(path, 'utf8'), fileSchema, origin);
      const rings = Object.entries(tenants).map(
        ([tenant, ring]) => [tenant, ringOf(ring, origin, tenant)] as const,
      );
      known = { mark, rings: new Map(rings) };
      return known.rings;
    } catch (thrown) {
      if (thrown instanceof LongreinError) throw thrown;
      const fix = 'let LONGREIN_TENANT_KEYS_FILE name a file that this process may read';
      throw unreadable(origin, thrown, fix);
    }
  };
  return {
    origin,
    keysOf(tenant) {
      const rings = read();
      const own = rings.get(tenant);
      if (own !== undefined) return own;
      const shared = rings.get(everyone);
      return shared === undefined ? undefined : derived(shared, tenant);
    },
  };
}

const commandMs = 20_000;
const rememberedMs = 300_000;

/** With the environment of this process, and the tenant in it. What it says on standard error is its own. */
const run = (command: string, tenant: string): string =>
  execFileSync('/usr/bin/env', [`LONGREIN_TENANT=${tenant}`, '/bin/sh', '-c', command], {
    encoding: 'utf8',
    timeout: commandMs,
    stdio: ['ignore', 'pipe', 'ignore'],
  });

/**
 * What the command prints for a tenant, which it finds in LONGREIN_TENANT: `{"current": ID, "keys": {ID: KEY}}`, or
 * nothing for a tenant without keys. It is asked once in five minutes, and when a key is missing.
 */
export function tenantKeyCommand(command: string, nowMs: () => number): TenantKeySource {
  const origin = 'the tenant keys of LONGREIN_TENANT_KEYS_COMMAND';
  const known = new Map<string, Readonly<{ keys: TenantKeys | undefined; atMs: number }>>();
  const ask = (tenant: string): TenantKeys | undefined => {
    try {
      const text = run(command, tenant);
      return text.trim() === ''
        ? undefined
        : ringOf(parsed(text, ringSchema, origin), origin, tenant);
    } catch (thrown) {
      if (thrown instanceof LongreinError) throw thrown;
      const { status } = thrown as { status?: number | null };
      const why = new Error(`for tenant ${tenant} it ended with ${status ?? 'no'} exit code`);
      throw unreadable(
        origin,
        why,
        'run the command by hand with LONGREIN_TENANT set, and mend it',
      );
    }
  };
  return {
    origin,
    keysOf(tenant, fresh = false) {
      const last = known.get(tenant);
      if (last !== undefined && !fresh && nowMs() - last.atMs < rememberedMs) return last.keys;
      const keys = ask(tenant);
      known.set(tenant, { keys, atMs: nowMs() });
      return keys;
    },
  };
}
