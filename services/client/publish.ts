/** Writing to public topics: plain JSON, which needs no registry. */

import { goalsTopic } from '../../schemas/topics.ts';
import { LongreinError } from '../chassis/errors.ts';
import { partitionOf } from '../chassis/log/partition.ts';
import type { Bounds, LogPort, OutgoingRecord, PartitionName } from '../chassis/log/port.ts';
import { StackEmptyError } from './errors.ts';
import type { NamedGoal } from './goal-request.ts';

/** Where a record stands. */
export type Published = PartitionName & Readonly<{ offset: number }>;

/** The bounds of a topic of ours. Throws StackEmptyError if no host has made the topics yet. */
export async function boundsOf(log: LogPort, topic: string): Promise<ReadonlyMap<number, Bounds>> {
  try {
    return await log.bounds(topic);
  } catch (thrown) {
    if (!(thrown instanceof LongreinError && thrown.code === 'TOPIC_UNKNOWN')) throw thrown;
    throw new StackEmptyError(topic, thrown);
  }
}

/** Writes one record; the promise resolves when the broker has it. */
export async function publish(
  log: LogPort,
  topic: string,
  message: { key: string; headers: Readonly<Record<string, string>>; body: object },
): Promise<Published> {
  const { key, headers, body } = message;
  const at = { topic, partition: partitionOf(key, await partitionsOf(log, topic)) };
  const record: OutgoingRecord = {
    key,
    headers: { 'content-type': 'application/json', ...headers },
    value: Buffer.from(JSON.stringify(body)),
  };
  const { baseOffset } = await log.append(at, [record]);
  return { ...at, offset: baseOffset };
}

const counts = new WeakMap<LogPort, Map<string, number>>();

/** The number of partitions of a topic, which never changes: it is asked for once per log. Throws StackEmptyError. */
export async function partitionsOf(log: LogPort, topic: string): Promise<number> {
  const known = counts.get(log) ?? new Map<string, number>();
  counts.set(log, known);
  const count = known.get(topic) ?? (await boundsOf(log, topic)).size;
  known.set(topic, count);
  return count;
}

/** Writes the goal to the goals topic. */
export function publishGoal(log: LogPort, { goalId, body }: NamedGoal): Promise<Published> {
  const headers = { ce_specversion: '1.0', ce_id: goalId, ce_type: 'longrein.goal.v1' };
  return publish(log, goalsTopic, { key: goalId, headers, body });
}
