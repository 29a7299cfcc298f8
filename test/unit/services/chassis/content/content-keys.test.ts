import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openBytes, sealBytes } from '../../../../../services/chassis/content/cipher.ts';
import { ContentKeys } from '../../../../../services/chassis/content/content-keys.ts';
import { tenantKeyCommand } from '../../../../../services/chassis/content/tenant-keys.ts';
import { plainSaltOf, saltOf } from '../../../../../services/chassis/protocol/seal.ts';
import { KeyRing, newKey } from '../../../../support/key-ring.ts';

/** Keys of sessions, wrapped by keys of tenants: made once, opened by who may, rewrapped, dropped. */

let ring: KeyRing;
beforeEach(() => {
  ring = new KeyRing();
});
afterEach(() => ring.remove());

const content = { digest: 'd'.repeat(64), mediaType: 'text/plain', bytes: 5, body: 'salut' };
const erasure = { session: 'ses_one', tenant: 'acme', by: 'ann', reason: 'asked', atMs: 1 };
const codeOf = (work: () => unknown): string => {
  try {
    work();
  } catch (thrown) {
    return String((thrown as { code?: string }).code);
  }
  return 'nothing was thrown';
};

/** Everything that lies in the directory of sessions' keys. */
const onDisk = (): string =>
  readdirSync(ring.sessions, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    .join('\n');

describe('a session', () => {
  test('is sealed from its goal on, under one key with its goal log; another process opens it', () => {
    const keys = ring.open();
    expect(keys.sealOf('ses_one')).toBeUndefined();
    expect(keys.begin('goal_ses_one', 'acme')).toBe(true);
    const text = keys.sealOf('ses_one')?.(content) ?? '';
    expect(Buffer.from(text, 'base64').toString('latin1')).not.toContain('salut');
    expect(ring.open().openerOf('ses_one')?.(content, text)).toBe('salut');
    expect(onDisk()).not.toContain('salut');
  });

  test('has a salt that nobody can tell without its key, the same in every process', () => {
    ring.open().begin('ses_one', 'acme');
    const salt = saltOf('ses_one');
    expect(salt).not.toBe(plainSaltOf('ses_one'));
    ring.open();
    expect([saltOf('ses_one'), saltOf('goal_ses_one')]).toEqual([salt, salt]);
    expect(saltOf('ses_two')).toBe(plainSaltOf('ses_two'));
  });

  test('of two processes that begin it at the same time gets one key', () => {
    const [one, other] = [ring.open(), ring.open()];
    one.begin('ses_one', 'acme');
    other.begin('ses_one', 'acme');
    const text = one.sealOf('ses_one')?.(content) ?? '';
    expect(other.openerOf('ses_one')?.(content, text)).toBe('salut');
  });

  test('that was sealed for one place opens at no other, and not after a change', () => {
    const keys = ring.open();
    keys.begin('ses_one', 'acme');
    const text = keys.sealOf('ses_one')?.(content) ?? '';
    const open = keys.openerOf('ses_one');
    expect(codeOf(() => open?.({ ...content, digest: 'e'.repeat(64) }, text))).toBe(
      'CONTENT_CHANGED',
    );
    expect(codeOf(() => keys.openerOf('goal_ses_one')?.(content, text))).toBe('CONTENT_CHANGED');
    const changed = Buffer.from(text, 'base64');
    changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1;
    expect(codeOf(() => open?.(content, changed.toString('base64')))).toBe('CONTENT_CHANGED');
  });

  test('that was erased has no key any more and gets none; the first erasure stands', () => {
    const keys = ring.open();
    keys.begin('ses_one', 'acme');
    keys.erase(erasure);
    expect(keys.erase({ ...erasure, by: 'bob', atMs: 2 })).toEqual(erasure);
    const later = ring.open();
    expect(later.openerOf('ses_one')).toBeUndefined();
    expect(later.begin('ses_one', 'acme')).toBe(true);
    expect(later.sealOf('ses_one')?.(content)).toBeUndefined();
    expect(onDisk()).not.toContain('wrapped');
    expect(ring.closed().erasureOf('goal_ses_one')).toEqual(erasure);
  });
});

describe('tenants', () => {
  test('that are not named share a key from which each gets its own; without one nothing is sealed', () => {
    const keys = ring.open();
    keys.begin('ses_one', 'acme');
    const [wrapped] = [...ring.store.all()];
    ring.store.erase({ ...erasure, session: 'ses_two' });
    expect(wrapped).toMatchObject({ tenant: 'acme', key: 'one' });
    ring.store.replace({ ...(wrapped ?? { session: '', key: '', wrapped: '' }), tenant: 'other' });
    expect(codeOf(() => ring.open().openerOf('ses_one'))).toBe('CONTENT_CHANGED');
    ring.write({ beta: { current: 'b', keys: { b: newKey() } } });
    expect(ring.open().begin('ses_three', 'acme')).toBe(false);
    expect(ring.open().begin('ses_four', 'beta')).toBe(true);
  });

  test('get another key without a restart; what the old one wrapped is rewrapped, then it may go', () => {
    const [old, fresh] = [newKey(), newKey()];
    ring.write({ acme: { current: 'old', keys: { old } } });
    const keys = ring.open();
    keys.begin('ses_one', 'acme');
    const text = keys.sealOf('ses_one')?.(content) ?? '';
    ring.write({ acme: { current: 'new-key', keys: { old, 'new-key': fresh } } });
    keys.begin('ses_two', 'acme');
    expect(keys.counts()).toEqual([
      { tenant: 'acme', key: 'old', sessions: 1, current: false },
      { tenant: 'acme', key: 'new-key', sessions: 1, current: true },
    ]);
    expect(keys.rewrap()).toEqual({ keys: 2, rewrapped: 1 });
    expect(keys.rewrap('acme')).toEqual({ keys: 2, rewrapped: 0 });
    ring.write({ acme: { current: 'new-key', keys: { 'new-key': fresh } } });
    expect(ring.open().openerOf('ses_one')?.(content, text)).toBe('salut');
    ring.write({ acme: { current: 'x', keys: { x: newKey() } } });
    expect(codeOf(() => ring.open().openerOf('ses_one'))).toBe('TENANT_KEY_UNKNOWN');
  });

  test('with files that say nothing usable are told so, without a key in the message', () => {
    const begin = (text: string): { code: string; message: string } => {
      writeFileSync(ring.file, text);
      try {
        ring.open().begin('ses_one', 'acme');
      } catch (thrown) {
        return thrown as { code: string; message: string };
      }
      throw new Error('it was taken');
    };
    const short = Buffer.from('short-secret').toString('base64');
    for (const text of [
      `tenants: {acme: {current: a, keys: {a: ${short}}}}`,
      `tenants: {acme: {current: b, keys: {a: ${newKey()}}}}`,
      `tenants: [${short}`,
      `keys: ${short}`,
    ]) {
      const { code, message } = begin(text);
      expect(code).toBe('TENANT_KEYS_INVALID');
      expect(message).not.toContain(short);
    }
    ring.remove();
    expect(codeOf(() => ring.open().begin('ses_one', 'acme'))).toBe('TENANT_KEYS_UNREADABLE');
  });

  test('may have their keys behind a command, which is asked once for each', () => {
    const said = join(ring.dir, 'asked');
    const script = join(ring.dir, 'kms');
    const answer = `{"current":"k1","keys":{"k1":"${newKey()}"}}`;
    const body = `#!/bin/sh\necho "$LONGREIN_TENANT" >> ${said}\n[ "$LONGREIN_TENANT" = broken ] && exit 3\n[ "$LONGREIN_TENANT" = acme ] && echo '${answer}'\nexit 0\n`;
    writeFileSync(script, body);
    chmodSync(script, 0o755);
    const source = tenantKeyCommand(script, () => 0);
    const keys = new ContentKeys(ring.store, source);
    expect(keys.begin('ses_one', 'acme')).toBe(true);
    expect(keys.begin('ses_two', 'acme')).toBe(true);
    expect(keys.begin('ses_three', 'nobody')).toBe(false);
    expect(codeOf(() => keys.begin('ses_four', 'broken'))).toBe('TENANT_KEYS_UNREADABLE');
    expect(readFileSync(said, 'utf8').split('\n')).toEqual(['acme', 'nobody', 'broken', '']);
  });
});

test('who was given no keys says what it needs, and so does who lacks the directory', () => {
  ring.open().begin('ses_one', 'acme');
  expect(codeOf(() => ring.closed().openerOf('ses_one'))).toBe('CONTENT_KEYS_NEEDED');
  expect(codeOf(() => ring.open().openerOf('ses_unknown'))).toBe('SESSION_KEY_MISSING');
});

test('the same text is never sealed the same way twice, and opens only with its key', () => {
  const [key, other] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
  const [one, two] = [sealBytes(key, 'place', 'text'), sealBytes(key, 'place', 'text')];
  expect(one.equals(two)).toBe(false);
  expect(openBytes(key, 'place', one)?.toString()).toBe('text');
  expect(openBytes(other, 'place', one)).toBeUndefined();
  expect(openBytes(key, 'place', one.subarray(0, 20))).toBeUndefined();
});
