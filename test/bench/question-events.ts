import type { ClickHouseClient } from '@clickhouse/client';
import { loadSample } from '../../services/event-store/sample/load.ts';
import { print } from './figures.ts';

/**
 * Events for the ready questions. The sample comes the usual way, as rows of the sink; the rest are made of it inside the
 * engine, so that what is measured is not how fast JSON is read. A copy has sessions, records, calls, offsets and times of
 * its own, and its session ids are hashes again: copies of one session lie far apart, as sessions do, and do not compress
 * each other away. Rollups and thin tables are filled by the same views as with any insert. Beyond `whole` events copies
 * are made of thin rows alone, and the rollup by its view's own query from those: for the questions that read nothing else.
 */

/** Far above the offsets of what came the usual way. */
const offsets = 100_000_000;
const shiftMs = 7_013;

const named = (prefix: string, column: string): string =>
  `if(e.${column} = '', '', concat('${prefix}', lower(hex(sipHash128(e.${column}, n.number)))))`;

const later = (column: string): string =>
  `e.${column} + toIntervalMillisecond(n.number * ${shiftMs})`;

const changed = `${named('ses_', 'session_id')} AS session_id, ${named('rec_', 'record_id')} AS record_id,
    ${named('call_', 'call_id')} AS call_id, ${named('', 'trace_id')} AS trace_id,
    e.k_offset + n.number * ${offsets} AS k_offset, ${later('at')} AS at,
    if(e.requested_at > 0, ${later('requested_at')}, e.requested_at) AS requested_at`;

const numbers = `(SELECT number FROM numbers({from:UInt32}, {count:UInt32})) AS n`;
const own = `startsWith(tenant_id, 'sample-')`;

const copyEvents = `
  INSERT INTO longrein.events SELECT e.* REPLACE(${changed})
  FROM (SELECT * FROM longrein.events WHERE ${own} AND k_offset < ${offsets}) AS e
  CROSS JOIN ${numbers}`;

const copyCalls = `
  INSERT INTO longrein.calls_thin SELECT e.* REPLACE(${changed})
  FROM (SELECT * FROM longrein.calls_thin WHERE ${own} AND k_offset < ${offsets}) AS e
  CROSS JOIN ${numbers}`;

/** Sessions and tasks have no offsets: those of the sample are those of its events. */
const copyOf = (table: string): string => `
  INSERT INTO longrein.${table} SELECT e.* REPLACE(${named('ses_', 'session_id')} AS session_id)
  FROM (SELECT * FROM longrein.${table} WHERE ${own} AND session_id IN
    (SELECT session_id FROM longrein.events WHERE ${own} AND k_offset < ${offsets})) AS e
  CROSS JOIN ${numbers}`;

/** Merges wait until all is there: each of them would write again what came before. */
const withoutMerges = async (
  client: ClickHouseClient,
  work: () => Promise<void>,
): Promise<void> => {
  await client.command({ query: 'SYSTEM STOP MERGES' });
  try {
    await work();
  } finally {
    await client.command({ query: 'SYSTEM START MERGES' });
  }
};

async function inSteps(
  [from, until]: readonly [number, number],
  step: number,
  work: (given: Readonly<{ from: number; count: number }>) => Promise<void>,
): Promise<void> {
  for (let next = from; next < until; next += step)
    await work({ from: next, count: Math.min(step, until - next) });
}

/** The rollup's own query, over thin rows in the place of events: those have all that it reads. */
async function hourlyFromCalls(client: ClickHouseClient): Promise<string> {
  const answer = await client.query({
    query: `SELECT as_select, (SELECT arrayStringConcat(groupArray(name), ', ') FROM system.columns
        WHERE database = 'longrein' AND table = 'costs_hourly_mv') AS names
      FROM system.tables WHERE database = 'longrein' AND name = 'costs_hourly_mv'`,
    format: 'JSONCompactEachRow',
  });
  const [[select = '', names = ''] = []] = await answer.json<string[]>();
  const calls = `(SELECT *, 1 AS effective, 'turn' AS kind FROM longrein.calls_thin WHERE late = 0
    AND k_offset >= {from:UInt32} * ${offsets} AND k_offset < ({from:UInt32} + {count:UInt32}) * ${offsets})`;
  return `INSERT INTO longrein.costs_hourly (${names}) ${select.replace('longrein.events', calls)}`;
}

async function copyThin(client: ClickHouseClient, span: readonly [number, number]): Promise<void> {
  const statements = [
    ...[copyCalls, copyOf('sessions_thin'), copyOf('tasks_thin')],
    await hourlyFromCalls(client),
  ];
  await inSteps(span, 40, async (query_params) => {
    for (const query of statements) await client.command({ query, query_params });
  });
}

const quietRounds = 5;

/** Until the engine has merged what it finds worth it, as a store does that has been there for a while. */
async function settle(client: ClickHouseClient): Promise<void> {
  for (let quiet = 0; quiet < quietRounds; quiet++) {
    const answer = await client.query({
      query: 'SELECT toString(count()) FROM system.merges',
      format: 'JSONCompactEachRow',
    });
    const [[merges] = []] = await answer.json<string[]>();
    if (merges !== '0') quiet = 0;
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
}

const rateOf = (rows: number, startedMs: number): number =>
  (rows * 1_000) / (performance.now() - startedMs);

export type Wanted = Readonly<{
  events: number /** Of them, so many with all that events have. */;
  whole: number;
}>;

/** The sample the usual way, then what `grow` makes of it. Returns how many events there are, and how many of them whole. */
export async function loadEvents(
  client: ClickHouseClient,
  wanted: Wanted,
  untilMs: number,
): Promise<Wanted> {
  const startedMs = performance.now();
  const { rows } = await loadSample(client, untilMs);
  print({ bench: 'questions-sample', events: rows, eventsPerSecond: rateOf(rows, startedMs) });
  const done = await grow(client, rows, wanted);
  await settle(client);
  return done;
}

/** Makes so many of the rows of the sample that is there. */
export async function grow(
  client: ClickHouseClient,
  rows: number,
  wanted: Wanted,
): Promise<Wanted> {
  let startedMs = performance.now();
  const lap = (bench: string, events: number): void => {
    if (events > 0) print({ bench, events, eventsPerSecond: rateOf(events, startedMs) });
    startedMs = performance.now();
  };
  const [whole, all] = [wanted.whole, wanted.events].map((events) =>
    Math.max(1, Math.ceil(events / rows)),
  ) as [number, number];
  await withoutMerges(client, async () => {
    await inSteps([1, whole], 4, async (query_params) => {
      await client.command({ query: copyEvents, query_params });
    });
    lap('questions-copies', (whole - 1) * rows);
    await copyThin(client, [whole, all]);
    lap('questions-thin-copies', (all - whole) * rows);
  });
  return { events: rows * Math.max(all, whole), whole: rows * whole };
}
