import { Kafka, logLevel } from 'kafkajs';
import type { JsonObject } from '../../schemas/json.ts';
import { goalsTopic, resultsTopic, sessionTopic } from '../../schemas/topics.ts';
import type { RuntimeConfig } from '../../services/chassis/config/runtime-config.ts';
import type { LogPort, LogRecord, Reader } from '../../services/chassis/log/port.ts';

export type Bounds = ReadonlyMap<number, Readonly<{ low: number; high: number }>>;

export const benchFixtures = new URL('../../../test/fixtures/bench', import.meta.url).pathname;

/** All that a loop goes through: `all` but the event store and the janitor. */
export const loopServices = [
  'intake',
  'planner',
  'supervisor',
  'worker-pool',
  'model-gateway',
  'tool-guard',
  'tool-runner',
  'aggregator',
];

/** What a host needs so that its model follows a script of the bench. */
export const scripted = (script: string): Readonly<Record<string, string>> => ({
  LONGREIN_CATALOG: benchFixtures,
  LONGREIN_SCRIPTED_FILE: `${benchFixtures}/scripts/${script}.yaml`,
});

/** Goals that go in, and results that come back. */
export class Loops {
  private readonly waiting = new Map<string, (text: string) => void>();
  private count = 0;
  private readonly send: (goal: JsonObject) => Promise<unknown>;

  constructor(send: (goal: JsonObject) => Promise<unknown>) {
    this.send = send;
  }

  ended(record: LogRecord): void {
    const text = Buffer.from(record.value ?? '').toString('utf8');
    const goal = /"goalId":"([^"]+)"/.exec(text)?.[1] ?? '';
    this.waiting.get(goal)?.(text);
    this.waiting.delete(goal);
  }

  /** Milliseconds from the goal to its result. Throws where it did not complete. */
  async run(plan = 'loop', more: JsonObject = {}): Promise<number> {
    const id = String(more['id'] ?? `loop-${process.pid}-${Date.now()}-${this.count++}`);
    const startedMs = performance.now();
    const ended = new Promise<void>((resolve, reject) => {
      this.waiting.set(id, (text) => {
        if (text.includes('"status":"completed"')) resolve();
        else reject(new Error(`${id} did not complete: ${text}`));
      });
    });
    await this.send({ id, goal: 'bench', plan, tenant: 'bench', ...more });
    await ended;
    return performance.now() - startedMs;
  }
}

/** Reads what comes to a topic from now on. */
export async function tailOf(
  log: LogPort,
  topic: string,
  onRecord: (record: LogRecord) => void,
): Promise<Reader> {
  const reader = await log.reader({
    onRecords: (_at, records) => {
      for (const record of records) onRecord(record);
    },
    onPartitionError: (_at, error) => process.stderr.write(`${error.message}\n`),
    onInterruption: () => undefined,
  });
  for (const [partition, { high }] of await log.bounds(topic))
    reader.assign({ topic, partition }, high);
  return reader;
}

export async function openLoops(config: RuntimeConfig, log: LogPort) {
  const kafka = new Kafka({ brokers: [...config.brokers], logLevel: logLevel.NOTHING });
  const producer = kafka.producer();
  await producer.connect();
  const loops = new Loops((goal) => {
    const message = { key: String(goal['id']), value: JSON.stringify(goal) };
    return producer.send({ topic: goalsTopic, messages: [message] });
  });
  const reader = await tailOf(log, resultsTopic, (record) => loops.ended(record));
  const close = async (): Promise<void> => {
    await reader.close();
    await producer.disconnect();
  };
  return { loops, close };
}

/** What was appended to the sessions since. */
export async function recordsSince(log: LogPort, from: Bounds): Promise<LogRecord[]> {
  const topic = sessionTopic('normal');
  const ends = await log.bounds(topic);
  const records: LogRecord[] = [];
  const open = new Set(
    [...ends].filter(([at, { high }]) => high > (from.get(at)?.high ?? 0)).map(([at]) => at),
  );
  let reader: Reader | undefined;
  await new Promise<void>((resolve, reject) => {
    const handlers = {
      onRecords: ({ partition }: { partition: number }, more: readonly LogRecord[]) => {
        records.push(...more);
        if ((more.at(-1)?.offset ?? -1) + 1 >= (ends.get(partition)?.high ?? 0))
          open.delete(partition);
        if (open.size === 0) resolve();
      },
      onPartitionError: (_at: unknown, error: Error) => reject(error),
      onInterruption: () => undefined,
    };
    if (open.size === 0) resolve();
    log.reader(handlers).then((made) => {
      reader = made;
      for (const partition of open)
        made.assign({ topic, partition }, from.get(partition)?.high ?? 0);
    }, reject);
  });
  await reader?.close();
  return records;
}
