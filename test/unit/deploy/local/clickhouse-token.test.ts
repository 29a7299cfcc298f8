import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import {
  clickhouseToken,
  tokenPath,
  withToken,
} from '../../../../deploy/local/clickhouse-token.ts';
import { readSettings } from '../../../../deploy/local/config.ts';

const stateDir = mkdtempSync(join(tmpdir(), 'longrein-token-'));
afterAll(() => rmSync(stateDir, { recursive: true }));

const settings = (environment: Record<string, string> = {}) => ({
  ...readSettings(environment),
  stateDir,
});

test('a token is made once, kept, and read by nobody else', async () => {
  const made = await clickhouseToken(settings());
  expect(made).toMatch(/^[\w-]{32}$/);
  expect(await clickhouseToken(settings())).toBe(made);
  expect(statSync(tokenPath(stateDir)).mode & 0o777).toBe(0o600);
});

test('the one of the environment goes first', async () => {
  expect(await clickhouseToken(settings({ LONGREIN_CLICKHOUSE_TOKEN: 'mine' }))).toBe('mine');
});

test('an address carries it so that any client takes it', () => {
  expect(withToken('http://127.0.0.1:8123', 'a b/c')).toBe(
    'http://default:a%20b%2Fc@127.0.0.1:8123',
  );
});
