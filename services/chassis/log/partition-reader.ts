import { LongreinError } from '../errors.ts';
import type { Bounds, LogPort, LogRecord, PartitionName } from './port.ts';

/** Records that may wait in memory before the reader pauses. */
const waitingMax = 5_000;

type Queue = {
  waiting: LogRecord[];
  error: Error | undefined;
  wake: () => void;
};

const failed = (at: PartitionName, cause: Error): LongreinError =>
  new LongreinError(
    'PARTITION_UNREADABLE',
    `${at.topic}/${at.partition} cannot be read: ${cause.message}`,
    {
      fix: 'see whether the topic still holds these offsets, then run the same command again',
      cause,
    },
  );

/**
 * The records of one partition from `low` up to, without, `high`, read outside every consumer group. Throws LongreinError
 * PARTITION_UNREADABLE. A broker that is away is waited for.
 */
export async function* readPartition(
  log: LogPort,
  at: PartitionName,
  bounds: Bounds,
): AsyncGenerator<LogRecord> {
  if (bounds.low >= bounds.high) return;
  const queue: Queue = { waiting: [], error: undefined, wake: () => undefined };
  const reader = await log.reader({
    onRecords(partition, records) {
      for (const record of records) queue.waiting.push(record);
      if (queue.waiting.length > waitingMax) reader.pause(partition);
      queue.wake();
    },
    onPartitionError(_partition, error) {
      queue.error = error;
      queue.wake();
    },
    onInterruption: () => undefined,
  });
  try {
    reader.assign(at, bounds.low);
    yield* drain(queue, { at, high: bounds.high, resume: () => reader.resume(at) });
  } finally {
    await reader.close();
  }
}

async function* drain(
  queue: Queue,
  reading: { at: PartitionName; high: number; resume: () => void },
): AsyncGenerator<LogRecord> {
  for (;;) {
    const batch = queue.waiting;
    queue.waiting = [];
    if (batch.length > waitingMax) reading.resume();
    for (const record of batch) {
      if (record.offset >= reading.high) return;
      yield record;
      if (record.offset === reading.high - 1) return;
    }
    if (queue.waiting.length > 0) continue;
    if (queue.error !== undefined) throw failed(reading.at, queue.error);
    await new Promise<void>((resolve) => {
      queue.wake = resolve;
    });
  }
}
