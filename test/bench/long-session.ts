import { setTimeout as sleep } from 'node:timers/promises';
import { sessionTopic } from '../../schemas/topics.ts';
import type { RuntimeConfig } from '../../services/chassis/config/runtime-config.ts';
import { createKafkaLog } from '../../services/chassis/log/kafka/kafka-log.ts';
import type { LogPort, LogRecord } from '../../services/chassis/log/port.ts';
import { bytesOf } from '../support/loop-costs.ts';
import { percentile, print } from './figures.ts';
import { startHostProcess } from './host-process.ts';
import { type Bounds, loopServices, openLoops, recordsSince, scripted } from './loops.ts';

/**
 * One session of ten thousand steps: whether its log grows with its length alone, whether a late step costs what an early
 * one did, and how long a host needs that takes over near its end.
 */

const steps = 10_000;
/** Where the host is killed, at the earliest, and another one comes. */
const killedAt = 5_000;
const window = 100;
const topic = sessionTopic('normal');

type Parts = Readonly<{ config: RuntimeConfig; log: LogPort; from: Bounds }>;

const isStep = ({ headers }: LogRecord): boolean =>
  headers['lr_kind'] === 'input' && headers['lr_types'] === 'model.completed';

/** Bytes of the log up to so many steps, for each step. */
function bytesPerStep(records: readonly LogRecord[], upTo: number): number {
  let [seen, bytes] = [0, 0];
  for (const record of records) {
    bytes += bytesOf(record);
    if (isStep(record) && ++seen === upTo) return bytes / upTo;
  }
  return bytes / Math.max(1, seen);
}

/** Milliseconds that a step took, over a window that begins there. */
function stepMs(records: readonly LogRecord[], from: number): number {
  const ends = records.filter(isStep).map(({ timestampMs }) => timestampMs);
  const taken = ends.slice(from, from + window).map((at, n) => at - (ends[from + n - 1] ?? at));
  return percentile(taken.slice(1), 0.5);
}

/** Waits until the session has so many steps. */
async function stepsDone({ log, from }: Parts, wanted: number): Promise<void> {
  for (;;) {
    const records = await recordsSince(log, from);
    if (records.filter(isStep).length >= wanted) return;
    await sleep(2_000);
  }
}

/** Kills the host in the middle; answers how long the next one took from its start to its first turn, above `startMs`. */
async function takenOver(parts: Parts, pid: number, startMs: number) {
  process.kill(pid, 'SIGKILL');
  await sleep(parts.config.sessionTimeoutMs + 2_000);
  const before = await parts.log.bounds(topic);
  const began = Date.now();
  const host = await startHostProcess(loopServices, scripted('walker'));
  for (;;) {
    const turns = (await recordsSince(parts.log, before)).filter(isStep);
    const [first] = turns;
    if (first !== undefined) return { host, restoreMs: first.timestampMs - began - startMs };
    await sleep(100);
  }
}

/** A session of many steps on the stack of the bench. */
export async function longSession(config: RuntimeConfig): Promise<void> {
  const log = createKafkaLog({ brokers: config.brokers, clientId: 'bench' });
  const began = Date.now();
  const host = await startHostProcess(loopServices, scripted('walker'));
  const startMs = Date.now() - began;
  const { loops, close } = await openLoops(config, log);
  const parts = { config, log, from: await log.bounds(topic) };
  const ended = loops.run('walk', { inputs: { steps } });
  await stepsDone(parts, killedAt);
  const next = await takenOver(parts, host.pid, startMs);
  const tookMs = await ended;
  const records = await recordsSince(log, parts.from);
  const [early, late] = [bytesPerStep(records, window), bytesPerStep(records, steps)];
  const [earlyMs, lateMs] = [stepMs(records, window), stepMs(records, steps - window - 1)];
  print({
    ...{ bench: 'long-session', steps, tookSeconds: tookMs / 1_000 },
    ...{ bytesPerStepAt100: early, bytesPerStepAtEnd: late, bytesRatio: late / early },
    ...{ stepMsAt100: earlyMs, stepMsAtEnd: lateMs, timeRatio: lateMs / earlyMs },
    ...{ restoreMs: next.restoreMs, checkpoints: records.filter(isCheckpoint).length },
  });
  await close();
  await log.close();
  await next.host.stop();
}

const isCheckpoint = ({ headers }: LogRecord): boolean => headers['lr_kind'] === 'checkpoint';
