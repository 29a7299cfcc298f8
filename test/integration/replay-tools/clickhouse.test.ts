import { rmSync } from 'node:fs';
import type { ClickHouseClient } from '@clickhouse/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { backtest } from '../../../replay-tools/backtest/backtest.ts';
import { exportLines } from '../../../replay-tools/export/export.ts';
import { candidateOf } from '../../../replay-tools/fork/candidate.ts';
import { readFromClickHouse } from '../../../replay-tools/read/clickhouse.ts';
import { History } from '../../../replay-tools/read/history.ts';
import { judgeSession } from '../../../replay-tools/read/session.ts';
import { verifySession } from '../../../replay-tools/verify/verify.ts';
import { createMemoryBlobs } from '../../../services/chassis/content/blobs.ts';
import { canonical } from '../../../services/chassis/protocol/hash.ts';
import { createEventTable } from '../../../services/event-store/clickhouse.ts';
import { decodeRecord } from '../../../services/event-store/decoded-record.ts';
import { rowsOf } from '../../../services/event-store/judgement.ts';
import { migrate } from '../../../services/event-store/migrations.ts';
import { SessionFold } from '../../../services/event-store/partition-fold.ts';
import {
  type EmbeddedClickHouse,
  quietClient,
  startEmbeddedClickHouse,
} from '../../support/embedded-clickhouse.ts';
import { sessionTopics } from '../../support/memory-world.ts';
import { type RecordedWorld, recordWorld, scenarios } from '../../support/recorded-world.ts';
import { sourceFromWorld } from '../../support/world-session.ts';

/** Sessions as rows of ClickHouse: read back they are the sessions of the log. */

let engine: EmbeddedClickHouse;
let client: ClickHouseClient;
let recorded: RecordedWorld;

beforeAll(async () => {
  engine = await startEmbeddedClickHouse();
  client = quietClient(engine.url);
  await migrate(client, { info: () => undefined });
  // Two hosts of everything, so that there are epochs and void records between the others.
  recorded = await recordWorld({ hosts: [['all'], ['all']], housekeepingMs: 200 });
  await store(recorded);
}, 120_000);

afterAll(async () => {
  await client.close();
  await engine.stop();
  rmSync(engine.directory, { recursive: true });
}, 60_000);

async function store({ world }: RecordedWorld): Promise<void> {
  const table = createEventTable(client);
  for (const topic of sessionTopics) {
    for (let partition = 0; partition < world.partitionCount(topic); partition++) {
      const fold = new SessionFold({ topic, partition }, { acceptance: {}, closed: [] });
      const records = world.cluster.records({ topic, partition });
      const rows = records.flatMap((log) => {
        const record = decodeRecord(log);
        return rowsOf({ log, header: record.header, judgement: fold.judge(record) });
      });
      if (rows.length > 0) await table.insertBatch(rows, `${topic}/${partition}`);
    }
  }
}

const reading = () => ({ client, blobs: recorded.world.blobs, address: engine.url });

test('every session and every goal log verifies from ClickHouse, with the counts of the log', async () => {
  for (const name of scenarios) {
    const { session, goalLog } = recorded.goals[name];
    for (const id of name === 'refused' ? [goalLog] : [session, goalLog]) {
      const report = await verifySession(await readFromClickHouse(reading(), id));
      expect(report.differences).toEqual([]);
      expect(report).toMatchObject({ identical: true, complete: true, status: 'closed' });
      const { counts } = await verifySession(await sourceFromWorld(recorded.world, id));
      const { others: _others, ...same } = counts;
      expect(report.counts).toMatchObject(same);
    }
  }
});

test('each record is the one of the log, with the same verdict', async () => {
  const { session } = recorded.goals.asked;
  const fromLog = await judgeSession(await sourceFromWorld(recorded.world, session));
  const fromRows = await judgeSession(await readFromClickHouse(reading(), session));
  const plain = (judged: typeof fromLog) =>
    judged.records.map(({ record, verdict }) => canonical({ ...record, verdict }));
  expect(plain(fromRows)).toEqual(plain(fromLog));
});

test('an export from ClickHouse is the export from the log', async () => {
  const { session } = recorded.goals.cancelled;
  const textOf = async (lines: AsyncIterable<string>): Promise<object[]> => {
    const items: object[] = [];
    for await (const line of lines) items.push((JSON.parse(line) as { item: object }).item);
    return items.filter((item) => !('end' in item));
  };
  const options = { release: 'test' };
  const rows = await textOf(exportLines(await readFromClickHouse(reading(), session), options));
  const log = await textOf(exportLines(await sourceFromWorld(recorded.world, session), options));
  expect(rows.map(canonical)).toEqual(log.map(canonical));
});

const permitted = `SELECT DISTINCT session_id FROM longrein.events
  WHERE effective = 1 AND type = 'tool.permitted' AND tool = {tool:String} ORDER BY session_id`;

async function sessionsBy(query: string, query_params: Record<string, string>) {
  const answer = await client.query({ query, query_params, format: 'JSONEachRow' });
  const rows = await answer.json<{ session_id: string }>();
  return rows.map(({ session_id: session }) => session);
}

/** Every session that ClickHouse has. */
async function storedHistories(): Promise<readonly History[]> {
  const query = `SELECT session_id FROM longrein.sessions WHERE session_id LIKE {like:String}`;
  const histories: History[] = [];
  for (const session of await sessionsBy(query, { like: 'ses%' }))
    histories.push(new History(await judgeSession(await readFromClickHouse(reading(), session))));
  return histories;
}

type Candidate = Parameters<typeof backtest>[1];

const flippedBy = (candidate: Candidate, histories: readonly History[]): readonly string[] =>
  histories
    .filter((history) => backtest(history, candidate).verdict === 'flipped')
    .map(({ session }) => session)
    .toSorted();

test('a policy that denies a tool flips the sessions that SQL finds, and an identical one none', async () => {
  const histories = await storedHistories();
  const counts: number[] = [];
  for (const tool of ['test.echo', 'test.flaky', 'test.wait', 'sandbox.run', 'test.none']) {
    const found = await sessionsBy(permitted, { tool });
    const candidate = candidateOf([{ what: 'policy', policy: { deny: [tool] } }]);
    expect([tool, flippedBy(candidate, histories)]).toEqual([tool, found]);
    counts.push(found.length);
  }
  expect(counts.filter((count) => count > 0).length).toBeGreaterThan(2);
  expect(counts.at(-1)).toBe(0);
  expect(flippedBy(candidateOf([]), histories)).toEqual([]);
});

test('a content whose blob is nowhere makes a part of the session one that is checked by hash only', async () => {
  const { session } = recorded.goals.asked;
  const source = await readFromClickHouse({ ...reading(), blobs: createMemoryBlobs() }, session);
  expect(await verifySession(source)).toMatchObject({ identical: true, complete: false });
});

test('a session that is not stored, and a database that is away, are clear errors', async () => {
  await expect(readFromClickHouse(reading(), 'ses_nowhere')).rejects.toMatchObject({
    code: 'SESSION_UNKNOWN',
    fix: expect.stringContaining('it may not be stored yet'),
  });
  const away = quietClient('http://127.0.0.1:1');
  const nobody = { client: away, blobs: createMemoryBlobs(), address: '127.0.0.1:1' };
  await expect(readFromClickHouse(nobody, 'ses_any')).rejects.toMatchObject({
    code: 'EVENTS_UNREADABLE',
    message: expect.stringContaining('127.0.0.1:1'),
  });
  await away.close();
});
