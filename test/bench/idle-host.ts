import { setTimeout as sleep } from 'node:timers/promises';
import { Kafka, logLevel, type Producer } from 'kafkajs';
import { limits } from '../../schemas/limits.ts';
import { goalsTopic, keysTopic, sessionTopic, watermarksTopic } from '../../schemas/topics.ts';
import type { RuntimeConfig } from '../../services/chassis/config/runtime-config.ts';
import { createKafkaLog } from '../../services/chassis/log/kafka/kafka-log.ts';
import type { LogPort, LogRecord, Reader } from '../../services/chassis/log/port.ts';
import { goalLogId, sessionId } from '../../services/chassis/protocol/ids.ts';
import { bodyOfRecord } from '../../services/client/record-body.ts';
import { print } from './figures.ts';
import { type HostProcess, startHostProcess } from './host-process.ts';
import { type Loops, loopServices, openLoops, scripted, tailOf } from './loops.ts';
import { processorMs, residentBytes } from './memory.ts';

/**
 * Thousands of sessions that wait for a person, on a real host: what each takes of its memory, whether watermarks move on
 * while others work, and how many checkpoints carry each one forward.
 */

const topic = sessionTopic('normal');
const warmingGoals = 200;
/** Goals on their way to their question at once: sent faster, they would wait in the host. */
const underWayMax = 400;
const perSend = 50;
const othersAtOnce = 20;
const mebibyte = 1_048_576;

const idOf = (n: number): string => `idle-${process.pid}-${n}`;

/** What is read of the logs while the bench runs. */
class Watch {
  asked = 0;
  records = 0;
  /** Checkpoints of idle sessions and of their goal logs. */
  checkpoints = 0;
  readonly marks = new Map<string, number>();
  private readonly idle = new Set<string>();
  private readers: readonly Reader[] = [];

  async start(log: LogPort, sessions: number): Promise<void> {
    for (let n = 0; n < sessions; n += 1) {
      const session = sessionId('bench', '', idOf(n));
      this.idle.add(session).add(goalLogId(session));
    }
    this.readers = [
      await tailOf(log, topic, (record) => this.session(record)),
      await tailOf(log, keysTopic, (record) => this.session(record)),
      await tailOf(log, watermarksTopic, (record) => this.mark(record)),
    ];
  }

  async close(): Promise<void> {
    for (const reader of this.readers) await reader.close();
  }

  private session({ headers }: LogRecord): void {
    this.records += 1;
    if (!this.idle.has(headers['ce_subject'] ?? '')) return;
    if (headers['lr_kind'] === 'checkpoint') this.checkpoints += 1;
    else if (headers['lr_types']?.includes('person.asked') === true) this.asked += 1;
  }

  private mark(record: LogRecord): void {
    if (!record.key.startsWith('mark/') || !record.key.includes(`/${topic}/`)) return;
    const { offset } = bodyOfRecord(record) as { offset: number };
    this.marks.set(record.key, offset);
  }
}

type Range = Readonly<{ from: number; to: number }>;

/** Resolves when all of these wait. */
async function sendAsking(producer: Producer, watch: Watch, range: Range): Promise<void> {
  for (let { from } = range; from < range.to; from += perSend) {
    while (from - watch.asked > underWayMax) await sleep(20);
    const messages = Array.from({ length: Math.min(perSend, range.to - from) }, (_, n) => {
      const id = idOf(from + n);
      const goal = { id, goal: 'bench', plan: 'ask', tenant: 'bench', inputs: { what: id } };
      return { key: id, value: JSON.stringify(goal) };
    });
    await producer.send({ topic: goalsTopic, messages });
  }
  while (watch.asked < range.to) await sleep(100);
}

/** Other goals, so many at once: until there were so many of them, or so many records in the log. */
async function others(loops: Loops, isOver: () => boolean): Promise<number> {
  let done = 0;
  const line = async (): Promise<void> => {
    while (!isOver()) {
      await loops.run('walk', { inputs: { steps: 10 } });
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: othersAtOnce }, line));
  return done;
}

/** How many of the marks moved since, and how far the slowest is behind its log. */
async function marksSince(log: LogPort, before: ReadonlyMap<string, number>, watch: Watch) {
  const ends = await log.bounds(topic);
  let moved = 0;
  let mostBehind = 0;
  for (const [key, offset] of watch.marks) {
    if (offset > (before.get(key) ?? 0)) moved += 1;
    const high = ends.get(Number(key.split('/').at(-1)))?.high ?? 0;
    mostBehind = Math.max(mostBehind, high - offset);
  }
  return { marks: watch.marks.size, moved, mostBehind };
}

type World = Readonly<{
  host: HostProcess;
  log: LogPort;
  loops: Loops;
  producer: Producer;
  sessions: number;
  beside: number;
}>;

async function measure({ host, log, loops, producer, sessions, beside }: World): Promise<void> {
  const mib = (): number => residentBytes(host.pid) / mebibyte;
  let warmed = 0;
  await others(loops, () => ++warmed > warmingGoals);
  await sleep(limits.sessionIdleMs / 4);
  const startMib = mib();
  const watch = new Watch();
  await watch.start(log, sessions);
  const half = Math.floor(sessions / 2);
  let [asleep, sleepingMib] = [0, startMib];
  for (const to of [half, sessions]) {
    const startedMs = performance.now();
    await sendAsking(producer, watch, { from: asleep, to });
    const openedSeconds = (performance.now() - startedMs) / 1_000;
    const openedMib = mib();
    await sleep(limits.sessionIdleMs + 15_000);
    const idleMib = mib();
    // What a host needs to do anything at all is in the first half; the second shows what a session adds.
    const addedKib = ((idleMib - sleepingMib) * 1_024) / (to - asleep);
    const opened = { openedSeconds, startMib, openedMib, idleMib, addedKib };
    print({ bench: 'idle-host', sessions: to, ...opened });
    [asleep, sleepingMib] = [to, idleMib];
  }
  const [before, records, cpuMs] = [new Map(watch.marks), watch.records, processorMs(host.pid)];
  const done = await others(loops, () => watch.records - records >= beside);
  await sleep(5_000);
  const marks = await marksSince(log, before, watch);
  const work = { otherGoals: done, otherRecords: watch.records - records, ...marks };
  const checkpointsEach = watch.checkpoints / sessions;
  const cost = { checkpointsEach, cpuSeconds: (processorMs(host.pid) - cpuMs) / 1_000 };
  print({ bench: 'idle-host-beside-work', sessions, ...work, ...cost, mib: mib() });
  await watch.close();
}

/** So many records of other work carry each of these sessions forward, and a third more. */
export const carriedAfter = (sessions: number): number =>
  Math.ceil(sessions * (loopServices.length + 2) * limits.carryForwardSpacing * (4 / 3));

/** So many sessions that wait on one host; then `beside` records of other work. */
export async function idleHost(
  config: RuntimeConfig,
  { sessions, beside }: Readonly<{ sessions: number; beside: number }>,
): Promise<void> {
  const host = await startHostProcess(loopServices, scripted('walker'));
  const log = createKafkaLog({ brokers: config.brokers, clientId: 'bench' });
  const { loops, close } = await openLoops(config, log);
  const kafka = new Kafka({ brokers: [...config.brokers], logLevel: logLevel.NOTHING });
  const producer = kafka.producer();
  await producer.connect();
  try {
    await measure({ host, log, loops, producer, sessions, beside });
  } finally {
    await producer.disconnect();
    await close();
    await log.close();
    await host.stop();
  }
}
