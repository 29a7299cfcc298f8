/**
 * One append on its way through a cluster in memory: written or not, and what its sender is told.
 */

import type { AppendError } from '../append-error.ts';
import { appendFailed } from '../log-error.ts';
import type { OutgoingRecord, PartitionName, Refusal } from '../port.ts';
import type { AppendFault, MemoryNetwork } from './memory-network.ts';

const BATCH_OVERHEAD_BYTES = 61;
const RECORD_OVERHEAD_BYTES = 8;

export type AppendAnswer = { baseOffset: number } | { error: AppendError };

export type MemoryAppend = Readonly<{
  partition: PartitionName;
  records: readonly OutgoingRecord[];
  fault: AppendFault;
  /** Called at most once. */
  answer(answer: AppendAnswer): void;
}>;

/** Sends it: the request takes one turn of the scheduler, the answer another. */
export function sendAppend(cluster: MemoryNetwork, append: MemoryAppend): void {
  const { fault } = append;
  const { delayMs, timeoutMs } = typeof fault === 'string' ? { delayMs: 0 } : fault;
  let answered = false;
  const answerOnce = (answer: AppendAnswer): void => {
    if (!answered) append.answer(answer);
    answered = true;
  };
  cluster.scheduler.schedule(delayMs, () => {
    const answer = arrive(cluster, append);
    cluster.scheduler.schedule(0, () => answerOnce(answer));
  });
  if (timeoutMs === undefined) return;
  cluster.scheduler.schedule(timeoutMs, () => answerOnce(failed(append, 'uncertain', 'no answer')));
}

function arrive(cluster: MemoryNetwork, append: MemoryAppend): AppendAnswer {
  const { partition, records, fault } = append;
  if (fault === 'lost') return failed(append, 'uncertain', 'the connection was lost');
  if (fault === 'refused') return failed(append, 'not-allowed', 'not authorised');
  if (fault === 'too-large') return failed(append, 'too-large', 'too many bytes');
  const bytesMax = cluster.topics.find(partition.topic)?.appendBytesMax;
  if (bytesMax !== undefined && sizeOf(records) > bytesMax) {
    return failed(append, 'too-large', `more than ${bytesMax} bytes`);
  }
  const baseOffset = cluster.write(partition, records);
  if (baseOffset === undefined) return failed(append, 'uncertain', 'no such partition');
  if (fault === 'lost-ack') return failed(append, 'uncertain', 'the connection was lost');
  return { baseOffset };
}

function failed(append: MemoryAppend, known: 'uncertain' | Refusal, reason: string): AppendAnswer {
  return { error: appendFailed(known, append, reason) };
}

/** About what Kafka would count. */
function sizeOf(records: readonly OutgoingRecord[]): number {
  let bytes = BATCH_OVERHEAD_BYTES;
  for (const { key, headers, value } of records) {
    bytes += RECORD_OVERHEAD_BYTES + Buffer.byteLength(key) + (value?.byteLength ?? 0);
    for (const [name, body] of Object.entries(headers)) {
      bytes += 2 + Buffer.byteLength(name) + Buffer.byteLength(body);
    }
  }
  return bytes;
}
