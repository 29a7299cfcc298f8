import { setTimeout as sleep } from 'node:timers/promises';
import { createKafkaLog } from '../../services/chassis/log/kafka/kafka-log.ts';
import type { LogPort, LogRecord, Reader } from '../../services/chassis/log/port.ts';

/** Reads topics from where they end now, outside every group, and keeps all that comes. */
export class TopicTail {
  readonly records: LogRecord[] = [];
  private readonly log: LogPort;
  private reader: Reader | undefined;

  private constructor(brokers: readonly string[]) {
    this.log = createKafkaLog({ brokers, clientId: 'test-tail' });
  }

  /** `fromStart`: with what is there already. The topics must exist. */
  static async open(
    brokers: readonly string[],
    topics: readonly string[],
    fromStart = false,
  ): Promise<TopicTail> {
    const tail = new TopicTail(brokers);
    tail.reader = await tail.log.reader({
      onRecords: (_at, records) => tail.records.push(...records),
      onPartitionError: (at, error) => {
        throw new Error(`${at.topic}/${at.partition}: ${error.message}`);
      },
      onInterruption: () => undefined,
    });
    for (const topic of topics) {
      for (const [partition, { low, high }] of await tail.log.bounds(topic))
        tail.reader.assign({ topic, partition }, fromStart ? low : high);
    }
    return tail;
  }

  /** Waits until so many records fit, and answers all that do. */
  async gather(
    fits: (record: LogRecord) => boolean,
    at: { count: number; withinMs: number; what: string },
  ): Promise<readonly LogRecord[]> {
    const startMs = performance.now();
    for (;;) {
      const found = this.records.filter(fits);
      if (found.length >= at.count) return found;
      if (performance.now() - startMs > at.withinMs)
        throw new Error(`${found.length} of ${at.count} came in ${at.withinMs} ms: ${at.what}`);
      await sleep(20);
    }
  }

  async close(): Promise<void> {
    await this.reader?.close();
    await this.log.close();
  }
}

const frameBytes = 5;

/** The JSON of a framed or plain record. */
export function jsonOf(record: LogRecord): unknown {
  const bytes = Buffer.from(record.value ?? new Uint8Array());
  return JSON.parse(bytes.toString('utf8', bytes[0] === 0 ? frameBytes : 0)) as unknown;
}
