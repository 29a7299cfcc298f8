import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ClickHouseClient } from '@clickhouse/client';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { eraseExports, exportsOfRows } from '../../../services/console/cli/erase/warehouse.ts';
import { createEventTable } from '../../../services/event-store/clickhouse.ts';
import { migrate } from '../../../services/event-store/migrations.ts';
import { exportEvents } from '../../../services/event-store/parquet/export.ts';
import { importEvents } from '../../../services/event-store/parquet/import.ts';
import { directoryPlace } from '../../../services/event-store/parquet/place.ts';
import {
  type EmbeddedClickHouse,
  quietClient,
  startEmbeddedClickHouse,
} from '../../support/embedded-clickhouse.ts';
import { eventRow } from '../../support/event-rows.ts';

/** Contents of an erased session leave Parquet files; everything else in them stays. On an engine of its own. */
vi.setConfig({ testTimeout: 120_000 });

const directory = mkdtempSync(join(tmpdir(), 'longrein-erased-'));
const secret = 'words of the data subject';
const erased = 'ses_gone';
let embedded: EmbeddedClickHouse;
let client: ClickHouseClient;

const contentOf = (body: string): string =>
  JSON.stringify({ goal: { body, bytes: body.length, digest: 'd1', mediaType: 'text/plain' } });

const rowsOf = (sessionId: string, offset: number, body: string) =>
  [0, 1, 2].map((step) =>
    eventRow({
      ...{ tenantId: 'acme', sessionId, topic: 'longrein.sessions.normal', offset: offset + step },
      ...{ recordId: `r-${offset + step}`, kind: 'turn', effective: true, costNanoUsd: 5 },
      ...{ atMs: Date.UTC(2026, 1, 1 + step), type: 'model.completed', content: contentOf(body) },
    }),
  );

beforeAll(async () => {
  embedded = await startEmbeddedClickHouse();
  client = quietClient(embedded.url, { request_timeout: 120_000 });
  await migrate(client, { info: () => undefined });
  const rows = [
    ...rowsOf(erased, 0, secret),
    ...rowsOf(`goal_${erased}`, 10, secret),
    ...rowsOf('ses_kept', 20, 'words of somebody else'),
    ...rowsOf('ses_other', 30, secret).map((row) => ({ ...row, tenantId: 'globex' })),
  ];
  await createEventTable(client).insertBatch(rows, 'rows');
  const wish = { to: directoryPlace(directory), fromDay: '1970-01-01', toDay: '2200-01-01' };
  await exportEvents(client, { ...wish, report: () => undefined });
}, 120_000);

afterAll(async () => {
  await client.close();
  await embedded.stop();
  for (const one of [embedded.directory, directory]) rmSync(one, { recursive: true });
}, 60_000);

const found = [{ session: erased, tenant: 'acme', logs: [] }];
const manifestText = (): string => readFileSync(join(directory, 'manifest.json'), 'utf8');

/** What the files hold after a way back into an empty database. */
async function imported(): Promise<readonly Record<string, string | number>[]> {
  await client.command({ query: 'DROP DATABASE longrein SYNC' });
  await migrate(client, { info: () => undefined });
  await importEvents(client, directoryPlace(directory), () => undefined);
  const query = `SELECT session_id AS session, count() AS rows, sum(cost_nano_usd) AS cost,
    countIf(position(content, 'words of') > 0) AS told, countIf(position(content, '"digest":"d1"') > 0) AS digests
    FROM longrein.events GROUP BY session ORDER BY session`;
  const answer = await client.query({ query, format: 'JSONEachRow' });
  return await answer.json<Record<string, string | number>>();
}

const figures = { rows: 3, cost: 15, digests: 3 };

test('the session has no words left there, its accounts and digests stay, and so does everybody else', async () => {
  const { exports, strange } = await exportsOfRows([directory]);
  expect([exports.map(({ name }) => name), strange]).toEqual([[directory], []]);
  const before = manifestText();
  const counts = await eraseExports(client, exports, found);
  expect([...counts]).toEqual([[erased, 3]]);
  expect(manifestText()).not.toBe(before);
  expect(await imported()).toEqual([
    { session: `goal_${erased}`, ...figures, told: 0 },
    { session: erased, ...figures, told: 0 },
    { session: 'ses_kept', ...figures, told: 3 },
    { session: 'ses_other', ...figures, told: 3 },
  ]);
});

test('once more it changes nothing; a manifest that was left behind is put right', async () => {
  const whole = manifestText();
  expect(await eraseExports(client, [directoryPlace(directory)], found)).toEqual(new Map());
  expect(manifestText()).toBe(whole);
  writeFileSync(
    join(directory, 'manifest.json'),
    whole.replaceAll(/"sha256": "\w{4}/g, '"sha256": "0000'),
  );
  await eraseExports(client, [directoryPlace(directory)], found);
  const hashes = JSON.parse(manifestText()) as { files: { tenantId: string; sha256: string }[] };
  const ofAcme = hashes.files.filter(({ tenantId }) => tenantId === 'acme');
  expect(ofAcme.some(({ sha256 }) => sha256.startsWith('0000'))).toBe(false);
});

test('a file that is no Parquet is named', async () => {
  const { files } = JSON.parse(manifestText()) as { files: { tenantId: string; path: string }[] };
  const [first = ''] = files.filter((one) => one.tenantId === 'acme').map(({ path }) => path);
  writeFileSync(join(directory, first), 'PAR1 and nothing more');
  await expect(eraseExports(client, [directoryPlace(directory)], found)).rejects.toMatchObject({
    code: 'EXPORTS_UNREADABLE',
    message: expect.stringContaining(first),
  });
});

test('what nobody can look into is said: files without the manifest of an export', async () => {
  const other = mkdtempSync(join(tmpdir(), 'longrein-strange-'));
  writeFileSync(join(other, 'rows.parquet'), 'PAR1');
  writeFileSync(join(other, 'manifest.json'), '{"format":"of another program"}');
  for (const broken of ['{', '{"format":"longrein-events","version":1}']) {
    mkdirSync(join(other, broken.length.toString()));
    writeFileSync(join(other, broken.length.toString(), 'manifest.json'), broken);
  }
  const { exports, strange } = await exportsOfRows([other]);
  expect([exports, strange]).toEqual([[], [join(other, 'rows.parquet')]]);
  rmSync(other, { recursive: true });
});
