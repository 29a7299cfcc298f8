/**
 * The password of the embedded engine. Every process of the machine reaches 127.0.0.1; only those
 * that may read the state directory may read events. It is made once and kept, so that programs
 * which know it go on working.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { LocalSettings } from './config.ts';
import { errorCode } from './files.ts';

/** Where it lies, readable by its owner alone. */
export const tokenPath = (stateDir: string): string => join(stateDir, 'clickhouse', 'token');

/** LONGREIN_CLICKHOUSE_TOKEN where it is set, else the one in the state directory. */
export async function clickhouseToken(settings: LocalSettings): Promise<string> {
  const given = settings.environment['LONGREIN_CLICKHOUSE_TOKEN'];
  if (given) return given;
  const path = tokenPath(settings.stateDir);
  try {
    const kept = (await readFile(path, 'utf8')).trim();
    if (kept !== '') return kept;
  } catch (thrown) {
    if (errorCode(thrown) !== 'ENOENT') throw thrown;
  }
  const token = randomBytes(24).toString('base64url');
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await writeFile(path, `${token}\n`, { mode: 0o600 });
  return token;
}

/** The address as clients take it, with user and password in it. */
export function withToken(url: string, token: string): string {
  const parsed = new URL(url);
  parsed.username = 'default';
  parsed.password = token;
  return parsed.href.replace(/\/$/, '');
}
