import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClickHouseClient } from '@clickhouse/client';
import type { EventRow } from './row.ts';

/**
 * Rows of a range that the engine takes for stored and does not have. It notes the token of an insert before the part itself
 * is in its place: killed between the two, it drops every repetition of that insert. Views are not concerned: each keeps
 * tokens of its own, and the repetition gives them what they lack. So what is missing is written past them, as parts. Those
 * are made in a database of their own: rights and row policies for readers are given in `longrein`, table by table.
 *
 * Source: `MergeTreeDeduplicationLog` and the sink of `MergeTree` in ClickHouse; seen in a run that killed the engine at
 * random, where the name of the part stood twice in the log of tokens.
 */

const database = 'longrein_again';

/** What is older was left behind by a process that was killed. */
const leftoverMs = 3_600_000;

/** Another insert of the same rows may be about to put its part in place. */
const settleMs = 2_000;

/** Writes these rows into a table of the shape of `longrein.events`. */
type Write = (rows: readonly EventRow[], table: string) => Promise<void>;

const keyOf = (offset: number | string, index: number | string): string => `${offset}/${index}`;

/** The rows that are not in the table, of a list that is all of one partition of the log. */
async function missingOf(
  client: ClickHouseClient,
  rows: readonly EventRow[],
): Promise<readonly EventRow[]> {
  const [first] = rows;
  if (first === undefined) return [];
  const offsets = rows.map(({ offset }) => offset);
  const answer = await client.query({
    query: `SELECT DISTINCT toString(k_offset) AS offset, event_index AS at FROM longrein.events
      WHERE k_topic = {topic:String} AND k_partition = {partition:UInt32}
        AND k_offset BETWEEN {from:UInt64} AND {to:UInt64}`,
    query_params: {
      topic: first.topic,
      partition: first.partition,
      from: offsets.reduce((least, one) => Math.min(least, one)),
      to: offsets.reduce((most, one) => Math.max(most, one)),
    },
    format: 'JSONEachRow',
  });
  const found = await answer.json<{ offset: string; at: number }>();
  const there = new Set(found.map(({ offset, at }) => keyOf(offset, at)));
  return rows.filter(({ offset, index }) => !there.has(keyOf(offset, index)));
}

/** Puts the rows into the table as parts, past its views. */
async function attach(
  client: ClickHouseClient,
  rows: readonly EventRow[],
  write: Write,
): Promise<void> {
  const name = `events_${randomBytes(8).toString('hex')}`;
  const table = `${database}.${name}`;
  await client.command({ query: `CREATE DATABASE IF NOT EXISTS ${database}` });
  await client.command({ query: `CREATE TABLE ${table} AS longrein.events` });
  try {
    await write(rows, table);
    const parts = await client.query({
      query: `SELECT DISTINCT partition_id AS id FROM system.parts
        WHERE database = {database:String} AND table = {name:String} AND active`,
      query_params: { database, name },
      format: 'JSONEachRow',
    });
    for (const { id } of await parts.json<{ id: string }>())
      await client.command({
        query: `ALTER TABLE longrein.events ATTACH PARTITION ID '${id}' FROM ${table}`,
      });
  } finally {
    await client.command({ query: `DROP TABLE IF EXISTS ${table}` });
  }
}

/** Drops what processes that were killed in the middle of it left behind; nothing where nothing is. */
export async function dropLeftovers(
  client: ClickHouseClient,
  olderThanMs = leftoverMs,
): Promise<void> {
  const tables = await client.query({
    query: `SELECT name FROM system.tables WHERE database = {database:String}
      AND metadata_modification_time <= now() - toIntervalSecond({seconds:UInt32})`,
    query_params: { database, seconds: Math.floor(olderThanMs / 1_000) },
    format: 'JSONEachRow',
  });
  for (const { name } of await tables.json<{ name: string }>())
    await client.command({ query: `DROP TABLE IF EXISTS ${database}.${name}` });
}

/** Looks whether the table has rows that were inserted just now, and writes those that it lost. Answers how many. */
export async function restoreLostRows(
  client: ClickHouseClient,
  rows: readonly EventRow[],
  write: Write,
): Promise<number> {
  if ((await missingOf(client, rows)).length === 0) return 0;
  await sleep(settleMs);
  const missing = await missingOf(client, rows);
  if (missing.length > 0) await attach(client, missing, write);
  return missing.length;
}
