import { sessionTopic } from '../../schemas/topics.ts';
import type { RuntimeConfig } from '../../services/chassis/config/runtime-config.ts';
import { createKafkaLog } from '../../services/chassis/log/kafka/kafka-log.ts';
import type { LogRecord } from '../../services/chassis/log/port.ts';
import { loopCosts } from '../support/loop-costs.ts';
import { type Figure, percentile, print } from './figures.ts';
import { startHostProcess } from './host-process.ts';
import { type Loops, loopServices, openLoops, recordsSince, scripted } from './loops.ts';
import { rawHop } from './raw-client.ts';

/**
 * The work that other runtimes are measured by: one agent loop of 20 model and 20 tool calls that answer at once, each
 * recorded with its guard decision, claim and outcome. A loop of ours ends with one more model call. One loop at a time,
 * then 50.
 */

const callsPerLoop = 41;
const pairsPerLoop = 20;
const atOnce = 50;
const costOf = (records: readonly LogRecord[]): Figure => loopCosts(records, pairsPerLoop);

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

type Setting = Readonly<{ hosts: readonly (readonly string[])[]; rawAppendMs: number }>;

/** One loop after the other; answers milliseconds per call at p50. */
async function oneAtATime(loops: Loops, name: string, count: number): Promise<Figure> {
  const perCall = (await repeat(loops, count)).map((ms) => ms / callsPerLoop);
  const msPerCallP50 = percentile(perCall, 0.5);
  return { bench: `${name}-one-at-a-time`, msPerCallP50, msPerCallP95: percentile(perCall, 0.95) };
}

export type Round = Readonly<{ msPerCallP50: number; callsPerSecond: number }>;

async function measure(name: string, config: RuntimeConfig, at: Setting): Promise<Round> {
  const start = (names: readonly string[]) => startHostProcess(names, scripted('looper'));
  const running = await Promise.all(at.hosts.map(start));
  const log = createKafkaLog({ brokers: config.brokers, clientId: 'bench' });
  const { loops, close } = await openLoops(config, log);
  const topic = sessionTopic('normal');
  await repeat(loops, 10);
  const before = await log.bounds(topic);
  const one = await oneAtATime(loops, name, 40);
  const msPerCallP50 = Number(one['msPerCallP50']);
  const timesRawAppend = msPerCallP50 / at.rawAppendMs;
  print({ ...one, timesRawAppend, ...costOf(await recordsSince(log, before)) });
  await together(loops, 3);
  const middle = await log.bounds(topic);
  const callsPerSecond = await together(loops, 10);
  const cost = costOf(await recordsSince(log, middle));
  print({ bench: `${name}-${atOnce}-at-a-time`, callsPerSecond, ...cost });
  await close();
  await log.close();
  await Promise.all(running.map((host) => host.stop()));
  return { msPerCallP50, callsPerSecond };
}

/** One host without event store, on a stack that runs: what others are held against. */
export async function loopRound(config: RuntimeConfig): Promise<Round> {
  const raw = await rawHop(config.brokers, 300);
  return measure('loop', config, { hosts: [loopServices], rawAppendMs: raw.appendMs });
}

/** In one host without and with the event store, and with a process for each service. */
export async function agentLoop(config: RuntimeConfig, rawAppendMs: number): Promise<void> {
  await measure('loop', config, { hosts: [loopServices], rawAppendMs });
  await measure('loop-with-store', config, { hosts: [['all']], rawAppendMs });
  await measure('loop-apart', config, { hosts: loopServices.map((name) => [name]), rawAppendMs });
}
