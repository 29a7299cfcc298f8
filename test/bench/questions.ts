import { type ClickHouseClient, createClient } from '@clickhouse/client';
import { parametersFor, readReadyQueries } from '../../services/console/cli/ready-query.ts';
import { loadSample, removeSample } from '../../services/event-store/sample/load.ts';
import { percentile, print } from './figures.ts';
import { processorMs } from './memory.ts';

/** The ready questions on so many events of realistic shape: the sample data, over and over under other sessions. */

const dayMs = 86_400_000;
const untilMs = Date.UTC(2026, 2, 1);
const timelines = 40;

async function rowsOf(
  client: ClickHouseClient,
  query: string,
  query_params: Record<string, string> = {},
): Promise<readonly (readonly string[])[]> {
  const answer = await client.query({ query, query_params, format: 'JSONCompactEachRow' });
  return answer.json();
}

const copied = `startsWith(tenant_id, 'sample-')`;

/** Copies have sessions, records and offsets of their own; rollups and thin tables are filled as with any insert. */
const copy = (from: number, count: number): string => `
  INSERT INTO longrein.events
  SELECT e.* REPLACE(
    concat(e.session_id, '_', toString(n.number)) AS session_id,
    concat(e.record_id, '_', toString(n.number)) AS record_id,
    e.k_offset + n.number * 100000000 AS k_offset)
  FROM (SELECT * FROM longrein.events WHERE ${copied} AND k_offset < 100000000) AS e
  CROSS JOIN (SELECT number + ${from} AS number FROM numbers(${count})) AS n`;

async function grow(client: ClickHouseClient, wanted: number): Promise<number> {
  const { rows } = await loadSample(client, untilMs);
  const copies = Math.max(0, Math.ceil(wanted / rows) - 1);
  const started = performance.now();
  for (let done = 0; done < copies; done += 4)
    await client.command({ query: copy(done + 1, Math.min(4, copies - done)) });
  const seconds = (performance.now() - started) / 1_000;
  if (copies > 0)
    print({ bench: 'questions-copies', copies, rowsPerSecond: (copies * rows) / seconds });
  return rows * (copies + 1);
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

/** Processor time of the engine for one of so many runs: on a busy machine it says more than the clock. */
async function processorOf(
  engine: number | undefined,
  runs: number,
  work: () => Promise<void>,
): Promise<Readonly<{ processorMs?: number }>> {
  const before = engine === undefined ? 0 : processorMs(engine);
  await work();
  return engine === undefined ? {} : { processorMs: (processorMs(engine) - before) / runs };
}

type Asked = Readonly<{ client: ClickHouseClient; engine: number | undefined }>;

const rounds = 3;

async function questions({ client, engine }: Asked, session: string): Promise<void> {
  const took: number[] = [];
  for (const query of readReadyQueries()) {
    const sinceMs = untilMs - 30 * dayMs;
    const given = { tenant: '', sinceMs, untilMs: untilMs + dayMs, more: {} };
    const own = { ...given, tenant: 'sample-acme', more: { session } };
    const values = parametersFor(query, query.name === 'session-timeline' ? own : given);
    const tries: number[] = [];
    const spent = await processorOf(engine, rounds, async () => {
      for (let round = 0; round < rounds; round++)
        tries.push(await timeOf(() => rowsOf(client, query.sql, values)));
    });
    const ms = percentile(tries, 0.5);
    took.push(ms);
    print({ bench: 'question', name: query.name, ms, ...spent });
  }
  const slow = took.filter((ms) => ms >= 1_000).length;
  print({ bench: 'questions', n: took.length, worstMs: Math.max(...took), overASecond: slow });
}

async function timelineTimes({ client, engine }: Asked): Promise<void> {
  const sql = `SELECT k_offset, event_index, type, at FROM longrein.events
    WHERE tenant_id = 'sample-acme' AND session_id = {session:String} ORDER BY k_offset, event_index`;
  const sessions = await rowsOf(
    client,
    `SELECT session_id FROM longrein.sessions WHERE tenant_id = 'sample-acme'
      ORDER BY cityHash64(session_id) LIMIT ${timelines}`,
  );
  const took: number[] = [];
  const spent = await processorOf(engine, sessions.length, async () => {
    for (const [session = ''] of sessions)
      took.push(await timeOf(() => rowsOf(client, sql, { session })));
  });
  print({
    bench: 'timeline',
    n: took.length,
    p50Ms: percentile(took, 0.5),
    p95Ms: percentile(took, 0.95),
    ...spent,
  });
}

async function bytesPerEvent(client: ClickHouseClient): Promise<void> {
  const [row] = await rowsOf(
    client,
    `SELECT toString(sum(data_compressed_bytes)), toString(sum(rows)) FROM system.parts
      WHERE database = 'longrein' AND table = 'events' AND active`,
  );
  const [bytes = '0', rows = '1'] = row ?? [];
  print({ bench: 'stored', rows: Number(rows), bytesPerEvent: Number(bytes) / Number(rows) });
}

/** Loads the events, asks every ready question, and takes all of it out again. `engine`: its process, where it is ours. */
export async function readyQuestions(url: string, wanted: number, engine?: number): Promise<void> {
  const client = createClient({ url, request_timeout: 600_000 });
  try {
    print({ bench: 'questions-events', events: await grow(client, wanted) });
    const [costliest] = await rowsOf(
      client,
      `SELECT session_id FROM longrein.sessions WHERE tenant_id = 'sample-acme'
        ORDER BY cost_nano_usd DESC, session_id LIMIT 1`,
    );
    await questions({ client, engine }, costliest?.[0] ?? '');
    await timelineTimes({ client, engine });
    await bytesPerEvent(client);
  } finally {
    await removeSample(client);
    await client.close();
  }
}
