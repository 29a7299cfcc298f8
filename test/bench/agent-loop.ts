import { Kafka, logLevel } from 'kafkajs';
import { goalsTopic, resultsTopic, sessionTopic } from '../../schemas/topics.ts';
import type { RuntimeConfig } from '../../services/chassis/config/runtime-config.ts';
import { createKafkaLog } from '../../services/chassis/log/kafka/kafka-log.ts';
import type { LogPort, LogRecord, Reader } from '../../services/chassis/log/port.ts';
import { type Figure, percentile, print } from './figures.ts';
import { startHostProcess } from './host-process.ts';

/**
 * The work that other runtimes are measured by: one agent loop of 20 model and 20 tool calls that answer at once, each
 * recorded with its guard decision, claim and outcome. A loop of ours ends with one more model call. One loop at a time,
 * then 50.
 */

const callsPerLoop = 41;
const pairsPerLoop = 20;
const atOnce = 50;

const fixtures = new URL('../../../test/fixtures/bench', import.meta.url).pathname;
const environment = {
  LONGREIN_CATALOG: fixtures,
  LONGREIN_SCRIPTED_FILE: `${fixtures}/scripts/looper.yaml`,
};

type Bounds = ReadonlyMap<number, Readonly<{ low: number; high: number }>>;

/** Goals that go in, and results that come back. */
class Loops {
  private readonly waiting = new Map<string, (text: string) => void>();
  private count = 0;
  private readonly send: (id: string) => Promise<unknown>;

  constructor(send: (id: string) => Promise<unknown>) {
    this.send = send;
  }

  ended(record: LogRecord): void {
    const text = Buffer.from(record.value ?? '').toString('utf8');
    const goal = /"goalId":"([^"]+)"/.exec(text)?.[1] ?? '';
    this.waiting.get(goal)?.(text);
    this.waiting.delete(goal);
  }

  /** Milliseconds from the goal to its result. */
  async run(): Promise<number> {
    const id = `loop-${process.pid}-${Date.now()}-${this.count++}`;
    const startedMs = performance.now();
    const ended = new Promise<void>((resolve, reject) => {
      this.waiting.set(id, (text) => {
        if (text.includes('"status":"completed"')) resolve();
        else reject(new Error(`${id} did not complete: ${text}`));
      });
    });
    await this.send(id);
    await ended;
    return performance.now() - startedMs;
  }
}

async function openLoops(config: RuntimeConfig, log: LogPort) {
  const kafka = new Kafka({ brokers: [...config.brokers], logLevel: logLevel.NOTHING });
  const producer = kafka.producer();
  await producer.connect();
  const loops = new Loops((id) => {
    const value = JSON.stringify({ id, goal: 'bench', plan: 'loop', tenant: 'bench' });
    return producer.send({ topic: goalsTopic, messages: [{ key: id, value }] });
  });
  const reader = await log.reader({
    onRecords: (_at, records) => {
      for (const record of records) loops.ended(record);
    },
    onPartitionError: (_at, error) => process.stderr.write(`${error.message}\n`),
    onInterruption: () => undefined,
  });
  for (const [partition, { high }] of await log.bounds(resultsTopic))
    reader.assign({ topic: resultsTopic, partition }, high);
  const close = async (): Promise<void> => {
    await reader.close();
    await producer.disconnect();
  };
  return { loops, close };
}

/** What was appended to the sessions since. */
async function recordsSince(log: LogPort, from: Bounds): Promise<LogRecord[]> {
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

const bytesOf = ({ headers, value }: LogRecord): number =>
  Object.entries(headers).reduce(
    (sum, [name, text]) => sum + name.length + text.length,
    value?.length ?? 0,
  );

/** From the first request to a model to the end of the loop: what the record of its calls takes. */
function costOf(records: readonly LogRecord[]): Figure {
  const sessions = new Map<string, LogRecord[]>();
  for (const record of records) {
    const session = record.headers['ce_subject'] ?? '';
    if (record.headers['lr_kind'] === 'turn' || record.headers['lr_kind'] === 'input')
      sessions.set(session, [...(sessions.get(session) ?? []), record]);
  }
  const [batches, fused] = [new Map<string, number>(), { turns: 0, all: 0 }];
  let bytes = 0;
  let count = 0;
  const loops = [...sessions.values()].map((all) => {
    const isCall = ({ headers }: LogRecord): boolean =>
      /(model|tool)\./.test(headers['lr_types'] ?? '');
    return all.slice(all.findIndex(isCall), all.findLastIndex(isCall) + 1);
  });
  for (const loop of loops) {
    count += loop.length;
    for (const record of loop) {
      bytes += bytesOf(record);
      const batch = record.headers['lr_batch'] ?? '';
      batches.set(batch, (batches.get(batch) ?? 0) + 1);
    }
  }
  for (const { headers } of loops.flat()) {
    if (headers['lr_kind'] !== 'turn') continue;
    fused.all += 1;
    if ((batches.get(headers['lr_batch'] ?? '') ?? 0) > 1) fused.turns += 1;
  }
  const pairs = loops.length * pairsPerLoop;
  return {
    loops: loops.length,
    appendsPerPair: batches.size / pairs,
    recordsPerPair: count / pairs,
    bytesPerPair: bytes / pairs,
    turnsFused: fused.turns / fused.all,
  };
}

async function repeat(loops: Loops, count: number): Promise<number[]> {
  const taken: number[] = [];
  for (let n = 0; n < count; n++) taken.push(await loops.run());
  return taken;
}

/** Loops at once for so long; calls per second. */
async function together(loops: Loops, seconds: number): Promise<number> {
  const startedMs = performance.now();
  let done = 0;
  const line = async (): Promise<void> => {
    while (performance.now() - startedMs < seconds * 1_000) {
      await loops.run();
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, line));
  return (done * callsPerLoop * 1_000) / (performance.now() - startedMs);
}

async function measure(
  name: string,
  config: RuntimeConfig,
  at: { hosts: readonly (readonly string[])[]; rawAppendMs: number },
): Promise<void> {
  const running = await Promise.all(at.hosts.map((names) => startHostProcess(names, environment)));
  const log = createKafkaLog({ brokers: config.brokers, clientId: 'bench' });
  const { loops, close } = await openLoops(config, log);
  const topic = sessionTopic('normal');
  await repeat(loops, 10);
  const before = await log.bounds(topic);
  const perCall = (await repeat(loops, 40)).map((ms) => ms / callsPerLoop);
  const p50Ms = percentile(perCall, 0.5);
  print({
    bench: `${name}-one-at-a-time`,
    ...{ msPerCallP50: p50Ms, msPerCallP95: percentile(perCall, 0.95) },
    timesRawAppend: p50Ms / at.rawAppendMs,
    ...costOf(await recordsSince(log, before)),
  });
  await together(loops, 3);
  const middle = await log.bounds(topic);
  const callsPerSecond = await together(loops, 10);
  const cost = costOf(await recordsSince(log, middle));
  print({ bench: `${name}-${atOnce}-at-a-time`, callsPerSecond, ...cost });
  await close();
  await log.close();
  await Promise.all(running.map((host) => host.stop()));
}

/** In one host, without and with the event store beside it. */
export async function agentLoop(config: RuntimeConfig, rawAppendMs: number): Promise<void> {
  await measure('loop', config, { hosts: [['all']], rawAppendMs });
}
