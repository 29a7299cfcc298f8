import { type ClickHouseClient, createClient } from '@clickhouse/client';
import { parametersFor, readReadyQueries } from '../../services/console/cli/ready-query.ts';
import { removeSample } from '../../services/event-store/sample/load.ts';
import { percentile, print } from './figures.ts';
import { processorMs } from './memory.ts';
import { loadEvents, type Wanted } from './question-events.ts';

/** The ready questions on so many events of realistic shape: the sample data, over and over under other names. */

const dayMs = 86_400_000;
const untilMs = Date.UTC(2026, 2, 1);
const timelines = 200;

async function rowsOf(
  client: ClickHouseClient,
  query: string,
  query_params: Record<string, string> = {},
): Promise<readonly (readonly string[])[]> {
  const answer = await client.query({ query, query_params, format: 'JSONCompactEachRow' });
  return answer.json();
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
  const timeline = readReadyQueries().find(({ name }) => name === 'session-timeline');
  if (timeline === undefined) throw new Error('the ready question session-timeline is missing');
  const sessions = await rowsOf(
    client,
    `SELECT session_id FROM longrein.sessions WHERE tenant_id = 'sample-acme'
      ORDER BY cityHash64(session_id) LIMIT ${timelines}`,
  );
  const took: number[] = [];
  const spent = await processorOf(engine, sessions.length, async () => {
    for (const [session = ''] of sessions)
      took.push(
        await timeOf(() => rowsOf(client, timeline.sql, { tenant: 'sample-acme', session })),
      );
  });
  print({
    bench: 'timeline',
    n: took.length,
    p50Ms: percentile(took, 0.5),
    p95Ms: percentile(took, 0.95),
    ...spent,
  });
}

/** Of the table of events, and of that without texts: contents, data and records as they were hashed. */
async function bytesPerEvent(client: ClickHouseClient): Promise<void> {
  const [parts] = await rowsOf(
    client,
    `SELECT toString(sum(bytes_on_disk)), toString(sum(rows)), toString(count()) FROM system.parts
      WHERE database = 'longrein' AND table = 'events' AND active`,
  );
  const [texts] = await rowsOf(
    client,
    `SELECT toString(sum(column_data_compressed_bytes)) FROM system.parts_columns
      WHERE database = 'longrein' AND table = 'events' AND active AND column IN ('data', 'content', 'record')`,
  );
  const [bytes, rows, count] = (parts ?? []).map(Number);
  if (bytes === undefined || rows === undefined || count === undefined)
    throw new Error('the engine does not say what the events take on disk');
  const thinBytes = bytes - Number(texts?.[0]);
  print({
    bench: 'stored',
    rows,
    parts: count,
    bytesPerEvent: bytes / rows,
    thin: thinBytes / rows,
  });
}

/** Loads the events, asks every ready question, and takes all of it out again. `engine`: its process, where it is ours. */
export async function readyQuestions(url: string, wanted: Wanted, engine?: number): Promise<void> {
  const client = createClient({ url, request_timeout: 600_000 });
  try {
    print({ bench: 'questions-events', ...(await loadEvents(client, wanted, untilMs)) });
    const [costliest] = await rowsOf(
      client,
      `SELECT session_id FROM longrein.sessions WHERE tenant_id = 'sample-acme'
        ORDER BY cost_nano_usd DESC, session_id LIMIT 1`,
    );
    await questions({ client, engine }, costliest?.[0] ?? '');
    await timelineTimes({ client, engine });
    await bytesPerEvent(client);
  } finally {
    // An engine of the bench's own goes with all that is in it.
    if (engine === undefined) await removeSample(client);
    await client.close();
  }
}
