import { setTimeout as sleep } from 'node:timers/promises';
import { resultsTopic } from '../../schemas/topics.ts';
import { createKafkaLog } from '../../services/chassis/log/kafka/kafka-log.ts';
import type { LogPort, LogRecord, Reader } from '../../services/chassis/log/port.ts';
import { jsonOf } from '../support/topic-tail.ts';

export type ResultRecord = Readonly<{ id: string; status: string; bytes: Buffer; atMs: number }>;
type Result = Readonly<{ goalId: string; status: string }>;

/** Every record of the results topic, by goal, as it comes. */
export class ResultTail {
  readonly byGoal = new Map<string, ResultRecord[]>();
  private readonly log: LogPort;
  private reader: Reader | undefined;

  private constructor(log: LogPort) {
    this.log = log;
  }

  /** The topic must exist. */
  static async open(brokers: readonly string[]): Promise<ResultTail> {
    const tail = new ResultTail(createKafkaLog({ brokers, clientId: 'torture-results' }));
    await tail.start();
    return tail;
  }

  private async start(): Promise<void> {
    this.reader = await this.log.reader({
      onRecords: (_at, records) => records.forEach(this.take),
      onPartitionError: (at, error) => {
        throw new Error(`${at.topic}/${at.partition}: ${error.message}`);
      },
      onInterruption: () => undefined,
    });
    for (const [partition, { low }] of await this.log.bounds(resultsTopic))
      this.reader.assign({ topic: resultsTopic, partition }, low);
  }

  private readonly take = (record: LogRecord): void => {
    const { goalId, status } = jsonOf(record) as Result;
    const found = {
      id: record.headers['ce_id'] ?? '',
      status,
      bytes: Buffer.from(record.value ?? []),
      atMs: Date.now(),
    };
    this.byGoal.set(goalId, [...(this.byGoal.get(goalId) ?? []), found]);
  };

  /** Which of these goals have no result, after waiting for them. */
  async missing(goals: Iterable<string>, withinMs: number): Promise<readonly string[]> {
    const asked = [...goals];
    const endMs = Date.now() + withinMs;
    for (;;) {
      const left = asked.filter((goal) => !this.byGoal.has(goal));
      if (left.length === 0 || Date.now() > endMs) return left;
      await sleep(200);
    }
  }

  async close(): Promise<void> {
    await this.reader?.close();
    await this.log.close();
  }
}
