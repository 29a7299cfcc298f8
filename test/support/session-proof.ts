import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '@clickhouse/client';
import { expect } from 'vitest';
import { readFromLog } from '../../replay-tools/read/kafka.ts';
import { reportLines } from '../../replay-tools/verify/report-text.ts';
import { verifySession } from '../../replay-tools/verify/verify.ts';
import { createDirectoryBlobs } from '../../services/chassis/content/blobs.ts';
import { createFixedCodec } from '../../services/chassis/log/codec.ts';
import { createKafkaLog } from '../../services/chassis/log/kafka/kafka-log.ts';
import type { LiveStack } from './live-stack.ts';

/** Every decision of these sessions, computed again from the log, is the one that was recorded. */
export async function expectVerified(stack: LiveStack, sessions: readonly string[]): Promise<void> {
  const log = createKafkaLog({ brokers: stack.brokers, clientId: 'proof' });
  const codec = createFixedCodec();
  const blobs = createDirectoryBlobs(stack.blobDir);
  for (const session of sessions) {
    const report = await verifySession(await readFromLog({ log, codec, blobs }, session));
    expect(report, reportLines(report).join('\n')).toMatchObject({ identical: true });
    expect(report.counts.decisions).toBeGreaterThan(0);
  }
  await log.close();
}

type Stored = Readonly<{ partition: number; records: number; rows: number; addresses: number }>;

async function storedOf(stack: LiveStack, topic: string): Promise<Map<number, Stored>> {
  const client = createClient({ url: stack.clickhouseUrl });
  const query = `SELECT k_partition AS partition, toUInt32(uniqExact(k_offset)) AS records,
    toUInt32(count()) AS rows, toUInt32(uniqExact(k_offset, event_index)) AS addresses
    FROM longrein.events WHERE k_topic = {topic:String} GROUP BY k_partition`;
  const answer = await client.query({ query, query_params: { topic }, format: 'JSONEachRow' });
  const rows = await answer.json<Stored>();
  await client.close();
  return new Map(rows.map((row) => [row.partition, row]));
}

/** Each record of the topic is in ClickHouse, none twice: waits until the event store has caught up. */
export async function expectStored(
  stack: LiveStack,
  topic: string,
  withinMs = 30_000,
): Promise<void> {
  const log = createKafkaLog({ brokers: stack.brokers, clientId: 'proof' });
  const untilMs = Date.now() + withinMs;
  for (;;) {
    const bounds = await log.bounds(topic);
    const stored = await storedOf(stack, topic);
    const behind = [...bounds].filter(
      ([at, { low, high }]) => (stored.get(at)?.records ?? 0) !== high - low,
    );
    if (behind.length === 0) {
      for (const { rows, addresses } of stored.values()) expect(rows).toBe(addresses);
      break;
    }
    if (Date.now() > untilMs) {
      expect(
        behind.map(([at, { low, high }]) => [at, high - low, stored.get(at)?.records ?? 0]),
      ).toEqual([]);
    }
    await sleep(200);
  }
  await log.close();
}
