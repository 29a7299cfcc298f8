import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { sqlShell } from '../../../../../services/console/cli/sql-shell.ts';
import { fakeTerminal } from '../../../../support/fake-terminal.ts';

/** A conversation with ClickHouse; a server that notes what it is asked stands in for it. */

const directory = mkdtempSync(join(tmpdir(), 'longrein-sql-'));
const history = join(directory, 'sql-history');
type Asked = Readonly<{ statement: string; parameters: URLSearchParams }>;
const asked: Asked[] = [];
let server: Server;
let url = '';

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const statement = await text(request);
    asked.push({ statement, parameters: new URL(request.url ?? '', 'http://x').searchParams });
    const isWrong = statement.includes('wrong');
    response.writeHead(isWrong ? 400 : 200, {
      'x-clickhouse-format': 'TabSeparatedWithNames',
      ...(isWrong ? { 'x-clickhouse-exception-code': '62' } : {}),
    });
    response.end(isWrong ? 'Code: 62. DB::Exception: Syntax error' : `n\n${asked.length}\n`);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(async () => {
  await new Promise((closed) => server.close(closed));
  rmSync(directory, { recursive: true });
});

beforeEach(() => {
  asked.length = 0;
  rmSync(history, { force: true });
});

async function say(...lines: readonly string[]) {
  const terminal = fakeTerminal();
  const input = new PassThrough();
  const environment = { LONGREIN_STATE_DIR: directory, LONGREIN_CLICKHOUSE_URL: url };
  const call = { environment, workingDir: directory, terminal, args: [], options: {}, json: false };
  const ended = sqlShell(call, { input, output: new PassThrough().resume() });
  input.end(lines.map((line) => `${line}\n`).join(''));
  await ended;
  return terminal;
}

const statements = (): readonly string[] => asked.map(({ statement }) => statement);
const kept = (): readonly string[] => readFileSync(history, 'utf8').trimEnd().split('\n');

test('a statement may take several lines, ends with a semicolon, and is only read', async () => {
  const { stdout } = await say('SELECT count()', '  FROM events;', '', 'SELECT 2;');
  expect(statements()).toEqual(['SELECT count()\n  FROM events', 'SELECT 2']);
  expect(asked.map(({ parameters }) => parameters.get('readonly'))).toEqual(['2', '2']);
  expect(stdout).toContain('n\n1\n');
  expect(stdout).toContain('n\n2\n');
});

test('tables and columns are described, their names given as values', async () => {
  await say('\\d', '\\d sessions', '\\?');
  expect(statements()[0]).toContain('system.tables');
  expect(statements()[1]).toContain('system.columns');
  expect(asked[1]?.parameters.get('param_table')).toBe('sessions');
  expect(asked.length).toBe(2);
});

test('an error is told, and the conversation goes on', async () => {
  const { stdout, stderr } = await say('SELECT wrong;', 'SELECT 3;');
  expect(stderr).toContain('Syntax error');
  expect(stdout).toContain('n\n2\n');
});

test.each(['\\q', 'exit', 'quit;'])('%s leaves', async (word) => {
  await say('SELECT 1;', word, 'SELECT 2;');
  expect(statements()).toEqual(['SELECT 1']);
});

test('what was said is kept for the next time, a thousand of it, for nobody else to read', async () => {
  await say('SELECT 1;');
  await say('SELECT', '2;', 'SELECT wrong;');
  expect(kept()).toEqual(['SELECT 1;', 'SELECT 2;', 'SELECT wrong;']);
  expect(statSync(history).mode & 0o777).toBe(0o600);
  writeFileSync(history, Array.from({ length: 1_200 }, (_, n) => `SELECT ${n};\n`).join(''));
  await say('SELECT 9999;');
  expect(kept().length).toBe(1_000);
  expect(kept().at(-1)).toBe('SELECT 9999;');
  expect(kept()[0]).toBe('SELECT 201;');
});

test('who says nothing leaves no history', async () => {
  await say('');
  expect(() => statSync(history)).toThrow('ENOENT');
});
