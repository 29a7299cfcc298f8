import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sessionsOver } from '../../../../../services/console/cli/session-choice.ts';
import { fakeTerminal } from '../../../../support/fake-terminal.ts';

/** What `--over` names: SQL, answered here by a server that says the same to everybody, or a directory. */

const directory = mkdtempSync(join(tmpdir(), 'longrein-over-'));
let server: Server;
let environment: Readonly<Record<string, string>> = {};
let answer: object = {};

beforeAll(async () => {
  server = createServer((_request, response) => {
    response.writeHead(200, { 'x-clickhouse-format': 'JSONCompact' });
    response.end(JSON.stringify(answer));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  environment = { LONGREIN_STATE_DIR: directory, LONGREIN_CLICKHOUSE_URL: url };
});

afterAll(async () => {
  await new Promise((closed) => server.close(closed));
  rmSync(directory, { recursive: true });
});

const over = (text: string) =>
  sessionsOver(
    {
      ...{ environment, workingDir: directory, terminal: fakeTerminal() },
      ...{ args: [], options: {}, json: false },
    },
    text,
  );

test('a query that gives a session several times names it once, in the order of the first', async () => {
  answer = {
    meta: [{ name: 'session_id', type: 'String' }],
    data: [['ses_b'], ['ses_a'], ['ses_b']],
    rows: 3,
  };
  expect(await over('SELECT session_id FROM events')).toEqual(['ses_b', 'ses_a']);
});

test('a query without that column is refused', async () => {
  answer = { meta: [{ name: 'n', type: 'UInt64' }], data: [['1']], rows: 1 };
  await expect(over('SELECT count() AS n FROM events')).rejects.toThrow('no column session_id');
});

test('a directory gives its exports by name, and nothing else', async () => {
  mkdirSync(join(directory, 'files'));
  for (const name of ['b.jsonl', 'a.jsonl', 'policy.yaml'])
    writeFileSync(join(directory, 'files', name), '');
  const found = await over('files');
  expect(found).toEqual(['a.jsonl', 'b.jsonl'].map((name) => join(directory, 'files', name)));
  await expect(over('nowhere')).rejects.toThrow('is no directory');
});
