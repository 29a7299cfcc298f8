import { setTimeout as sleep } from 'node:timers/promises';
import { type ClickHouseClient, createClient } from '@clickhouse/client';
import { storedTopics } from '../../../services/event-store/stored-topics.ts';
import type { LogImage, PartitionImage } from '../log-image.ts';
import type { Violation } from './evidence.ts';

const rule = 'rows in ClickHouse are the records of the log, with no gap and none twice';

type Stored = Readonly<{
  partition: number;
  offset: number;
  rows: number;
  indices: number;
  last: number;
  record: string;
}>;

const stored: ReadonlySet<string> = new Set(storedTopics.map(({ name }) => name));

async function rowsOf(client: ClickHouseClient, topic: string): Promise<readonly Stored[]> {
  const query = `SELECT k_partition AS partition, toUInt32(k_offset) AS offset,
    toUInt32(count()) AS rows, toUInt32(uniqExact(event_index)) AS indices,
    max(event_index) AS last, any(record_id) AS record
    FROM longrein.events WHERE k_topic = {topic:String} GROUP BY partition, offset`;
  const answer = await client.query({ query, query_params: { topic }, format: 'JSONEachRow' });
  return answer.json<Stored>();
}

function faultsOf(image: PartitionImage, rows: ReadonlyMap<number, Stored>): readonly string[] {
  const where = `${image.topic}/${image.partition}`;
  const isLog = image.records.length > 0;
  const missing = [...image.offsets.keys()].filter((offset) => !rows.has(offset));
  const faults = missing.map((offset) => `${where} at ${offset} has no row`);
  for (const { offset, rows: count, indices, last, record } of rows.values()) {
    if (!image.offsets.has(offset)) faults.push(`${where} at ${offset} is in no record`);
    else if (count !== indices) faults.push(`${where} at ${offset} has rows twice`);
    else if (last !== indices - 1) faults.push(`${where} at ${offset} lacks an event`);
    else if (isLog && record !== image.offsets.get(offset))
      faults.push(`${where} at ${offset} is another record`);
  }
  return faults;
}

async function faults(client: ClickHouseClient, image: LogImage): Promise<readonly string[]> {
  const found: string[] = [];
  for (const topic of stored) {
    const all = await rowsOf(client, topic);
    for (const one of image.partitions.filter((partition) => partition.topic === topic)) {
      const own = all.filter(({ partition }) => partition === one.partition);
      found.push(...faultsOf(one, new Map(own.map((row) => [row.offset, row]))));
    }
  }
  return found;
}

/** Compares row by row; gives the event store this long to catch up. */
export async function rowsOfLog(
  url: string,
  image: LogImage,
  withinMs: number,
): Promise<readonly Violation[]> {
  const client = createClient({ url });
  const endMs = Date.now() + withinMs;
  try {
    for (;;) {
      const found = await faults(client, image);
      if (found.length === 0 || Date.now() > endMs)
        return found.map((detail) => ({ rule, detail }));
      await sleep(1_000);
    }
  } finally {
    await client.close();
  }
}
