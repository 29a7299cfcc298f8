import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import type { ClickHouseClient } from '@clickhouse/client';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { eraseExports, exportsInBuckets } from '../../../services/console/cli/erase/warehouse.ts';
import { type BucketAddress, bucketAddress } from '../../../services/event-store/bucket/address.ts';
import { keysOf } from '../../../services/event-store/bucket/objects.ts';
import { bucketPlace } from '../../../services/event-store/bucket/place.ts';
import { createEventTable } from '../../../services/event-store/clickhouse.ts';
import { migrate } from '../../../services/event-store/migrations.ts';
import { exportEvents } from '../../../services/event-store/parquet/export.ts';
import { importEvents } from '../../../services/event-store/parquet/import.ts';
import {
  type ExportPlace,
  readWhole,
  writeText,
} from '../../../services/event-store/parquet/place.ts';
import { type BucketServer, startBucketServer } from '../../support/bucket-server.ts';
import {
  type EmbeddedClickHouse,
  quietClient,
  startEmbeddedClickHouse,
} from '../../support/embedded-clickhouse.ts';
import { eventRow } from '../../support/event-rows.ts';

/**
 * Events leave for a bucket, come back, and are erased there: on an engine of its own, in the bucket that LONGREIN_S3_PLACE
 * names (s3://…, with the AWS_* variables), else in one on this machine.
 */
vi.setConfig({ testTimeout: 180_000 });

const secret = 'words of the data subject';
const erased = 'ses_gone';
let embedded: EmbeddedClickHouse;
let client: ClickHouseClient;
let server: BucketServer | undefined;
let address: BucketAddress;
let place: ExportPlace;

const rowsOf = (tenantId: string, sessionId: string, offset: number) =>
  [0, 1, 2].map((step) =>
    eventRow({
      ...{ tenantId, sessionId, topic: 'longrein.sessions.normal', offset: offset + step },
      ...{ recordId: `r-${offset + step}`, kind: 'turn', effective: true, costNanoUsd: 5 },
      ...{ atMs: Date.UTC(2026, 1, 1 + step), type: 'model.completed' },
      content: JSON.stringify({ goal: { body: secret, bytes: 9, digest: 'd1', mediaType: 'a/b' } }),
    }),
  );

beforeAll(async () => {
  const given = process.env.LONGREIN_S3_PLACE;
  server = given === undefined ? await startBucketServer() : undefined;
  const environment = server?.environment ?? process.env;
  address = bucketAddress(`${given ?? `s3://${server?.bucket}`}/${randomUUID()}`, environment);
  place = bucketPlace(address);
  embedded = await startEmbeddedClickHouse();
  client = quietClient(embedded.url, { request_timeout: 120_000 });
  await migrate(client, { info: () => undefined });
  const rows = [
    ...rowsOf('acme corp/1', erased, 0),
    ...rowsOf('acme corp/1', 'ses_kept', 20),
    ...rowsOf('globex', 'ses_other', 30),
  ];
  await createEventTable(client).insertBatch(rows, 'rows');
}, 180_000);

afterAll(async () => {
  for (const key of await keysOf(address)) await place.remove(key);
  await client.close();
  await embedded.stop();
  await server?.close();
  rmSync(embedded.directory, { recursive: true });
}, 60_000);

async function rows<T>(query: string): Promise<readonly T[]> {
  const answer = await client.query({ query, format: 'JSONEachRow' });
  return await answer.json<T>();
}

const printOfRows = () =>
  rows('SELECT toString(groupBitXor(cityHash64(*))) AS hash, count() AS n FROM longrein.events');

const exported = (fromDay: string, toDay: string) =>
  exportEvents(client, { to: place, fromDay, toDay, report: () => undefined });

/** An empty database gets what the bucket has. */
async function importAnew() {
  await client.command({ query: 'DROP DATABASE longrein SYNC' });
  await migrate(client, { info: () => undefined });
  return await importEvents(client, place, () => undefined);
}

test('day after day goes to the same place, and all of it comes back the same', async () => {
  const before = await printOfRows();
  expect((await exported('2026-02-01', '2026-02-02')).files).toHaveLength(2);
  expect((await exported('2026-02-02', '2026-02-04')).files).toHaveLength(4);
  expect((await exported('2026-02-02', '2026-02-03')).files).toHaveLength(2);
  const keys = await keysOf(address);
  expect(keys).toContain('tenant_id=acme%20corp%2F1/dt=2026-02-03/events-0.parquet');
  expect(keys.filter((key) => key.endsWith('.parquet'))).toHaveLength(6);
  const table = (await readWhole(place, 'athena.sql'))?.toString();
  expect(table).toContain(`LOCATION '${place.name}/'`);
  expect(await importAnew()).toEqual({ written: 6, there: 0, rows: 9 });
  expect(await printOfRows()).toEqual(before);
  expect(await importEvents(client, place, () => undefined)).toMatchObject({
    written: 0,
    there: 6,
  });
});

const found = [{ session: erased, tenant: 'acme corp/1', logs: [] }];

test('what is erased leaves the objects and their older versions, and everybody else stays', async () => {
  server?.keepVersions();
  await writeText(place, 'tenant_id=other/rows.parquet', 'PAR1');
  const { exports, strange } = await exportsInBuckets([address]);
  expect(strange).toEqual([`${place.name}/tenant_id=other/rows.parquet`]);
  expect([...(await eraseExports(client, exports, found))]).toEqual([[erased, 3]]);
  const versions = [...(server?.objects ?? [])].filter(([key]) => key.includes('tenant_id=acme'));
  expect(versions.map(([, all]) => all.length)).toEqual(versions.map(() => 1));
  await importAnew();
  const told = await rows(`SELECT session_id AS session, toString(sum(cost_nano_usd)) AS cost,
    toString(countIf(position(content, 'words of') > 0)) AS told,
    toString(countIf(position(content, '"digest":"d1"') > 0)) AS digests
    FROM longrein.events GROUP BY session ORDER BY session`);
  expect(told).toEqual([
    { session: erased, cost: '15', told: '0', digests: '3' },
    { session: 'ses_kept', cost: '15', told: '3', digests: '3' },
    { session: 'ses_other', cost: '15', told: '3', digests: '3' },
  ]);
  expect(await eraseExports(client, exports, found)).toEqual(new Map());
});

test('an object that was changed is named, and a place without a manifest is no export', async () => {
  const path = 'tenant_id=globex/dt=2026-02-03/events-0.parquet';
  await writeText(place, path, 'PAR1 and nothing more');
  await expect(importEvents(client, place, () => undefined)).rejects.toMatchObject({
    ...{ code: 'EXPORT_BROKEN', message: expect.stringContaining(path) },
  });
  const nowhere = bucketPlace({ ...address, prefix: `${address.prefix}nowhere/` });
  await expect(importEvents(client, nowhere, () => undefined)).rejects.toMatchObject({
    ...{ code: 'EXPORT_BROKEN', message: expect.stringContaining('manifest.json') },
  });
});
