import { Kafka, logLevel } from 'kafkajs';
import { goalsTopic, resultsTopic } from '../../schemas/topics.ts';
import type { RuntimeConfig } from '../../services/chassis/config/runtime-config.ts';
import { createKafkaLog } from '../../services/chassis/log/kafka/kafka-log.ts';
import { print } from './figures.ts';
import { startHostProcess } from './host-process.ts';
import { loopServices, scripted, tailOf } from './loops.ts';
import { processorMs, residentBytes } from './memory.ts';

/** Thousands of goals within ten seconds: whether all end, and what the host holds while they wait, against a limit. */

const goals = 5_000;
const withinMs = 10_000;
const perSend = 250;
const mebibyte = 1_048_576;
/** What a person would give a host of all services but the event store. */
const limitMib = 768;

/** Resolves when so many results came, each with how it ended. */
async function resultsOf(config: RuntimeConfig, count: number) {
  const log = createKafkaLog({ brokers: config.brokers, clientId: 'bench' });
  const seen = new Set<string>();
  let completed = 0;
  let done: () => void = () => undefined;
  const all = new Promise<void>((resolve) => {
    done = resolve;
  });
  const reader = await tailOf(log, resultsTopic, ({ value }) => {
    const text = Buffer.from(value ?? '').toString('utf8');
    const [, goal] = /"goalId":"(flood-[^"]+)"/.exec(text) ?? [];
    if (goal === undefined || seen.has(goal)) return;
    seen.add(goal);
    if (text.includes('"status":"completed"')) completed += 1;
    if (seen.size >= count) done();
  });
  const close = async (): Promise<void> => {
    await reader.close();
    await log.close();
  };
  return { all, close, ended: () => ({ ended: seen.size, completed }) };
}

async function send(config: RuntimeConfig): Promise<number> {
  const kafka = new Kafka({ brokers: [...config.brokers], logLevel: logLevel.NOTHING });
  const producer = kafka.producer();
  await producer.connect();
  const startedMs = performance.now();
  for (let from = 0; from < goals; from += perSend) {
    const messages = Array.from({ length: perSend }, (_, n) => {
      const id = `flood-${process.pid}-${from + n}`;
      const goal = { id, goal: 'bench', plan: 'walk', tenant: 'bench', inputs: { steps: 1 } };
      return { key: id, value: JSON.stringify(goal) };
    });
    await producer.send({ topic: goalsTopic, messages });
    const dueMs = startedMs + (withinMs * (from + perSend)) / goals;
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, dueMs - performance.now())));
  }
  await producer.disconnect();
  return performance.now() - startedMs;
}

/** A burst on the stack of the bench: each goal is a model call with a tool call, and the end. */
export async function flood(config: RuntimeConfig): Promise<void> {
  // Where it does not fit, the process ends, and with it the bench.
  const heap = `--max-old-space-size=${limitMib - 128}`;
  const env = { ...scripted('walker'), NODE_OPTIONS: heap };
  const host = await startHostProcess(loopServices, env);
  const results = await resultsOf(config, goals);
  const idleMib = residentBytes(host.pid) / mebibyte;
  let mostMib = idleMib;
  const watch = setInterval(() => {
    mostMib = Math.max(mostMib, residentBytes(host.pid) / mebibyte);
  }, 250);
  const startedMs = performance.now();
  const sentMs = await send(config);
  await results.all;
  clearInterval(watch);
  const allEndedSeconds = (performance.now() - startedMs) / 1_000;
  const cpuSeconds = processorMs(host.pid) / 1_000;
  const figures = { sentSeconds: sentMs / 1_000, allEndedSeconds, idleMib, mostMib, limitMib };
  print({ bench: 'flood', goals, ...results.ended(), ...figures, cpuSeconds });
  await results.close();
  await host.stop();
}
