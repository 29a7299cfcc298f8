import { setTimeout as sleep } from 'node:timers/promises';
import { Kafka, logLevel } from 'kafkajs';
import { goalsTopic, poolsTopic } from '../../schemas/topics.ts';
import type { RuntimeConfig } from '../../services/chassis/config/runtime-config.ts';
import { createKafkaLog } from '../../services/chassis/log/kafka/kafka-log.ts';
import { Harness } from '../../services/client/index.ts';
import { percentile, print } from './figures.ts';
import { startHostProcess } from './host-process.ts';
import { scripted, tailOf } from './loops.ts';

/**
 * What the many goals of one tenant that wait for a pool do to the few of another: the p95 of ten goals, alone and with a
 * thousand waiting. In `fair` tenants share all places; in `roomy` one tenant may take half of them.
 */

const fewGoals = 10;
const rounds = 3;
const settleMs = 20_000;
const pauseMs = 6_000;

/** Milliseconds of ten goals that come together, at the 95th percentile: the middle of some rounds. */
async function fewP95Ms(harness: Harness, pool: string): Promise<number> {
  const perRound: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const one = async (): Promise<number> => {
      const startedMs = performance.now();
      await harness.run({ plan: `wait-${pool}`, tenant: 'bolt' });
      return performance.now() - startedMs;
    };
    const waits = await Promise.all(Array.from({ length: fewGoals }, one));
    perRound.push(percentile(waits, 0.95));
    // Ten goals are few only if the next ten do not follow at once.
    await sleep(pauseMs);
  }
  return percentile(perRound, 0.5);
}

/** Resolves once so many requests more stand in the logs of pools. */
async function untilAsked(config: RuntimeConfig, count: number, begin: () => Promise<void>) {
  const log = createKafkaLog({ brokers: config.brokers, clientId: 'bench' });
  let asked = 0;
  const reader = await tailOf(log, poolsTopic, ({ headers }) => {
    if (headers['lr_types'] === 'slot.requested') asked += 1;
  });
  await begin();
  while (asked < count) await sleep(100);
  await reader.close();
  await log.close();
}

const acme = { tenant: 'acme' };

/** Goals or cancels, all at once: a client would follow each. */
async function sendGoals(config: RuntimeConfig, goals: readonly { id: string }[]): Promise<void> {
  const kafka = new Kafka({ brokers: [...config.brokers], logLevel: logLevel.NOTHING });
  const producer = kafka.producer();
  await producer.connect();
  const messages = goals.map(({ id, ...body }) => ({
    key: id,
    value: JSON.stringify('cancel' in body ? body : { id, ...body }),
  }));
  await producer.send({ topic: goalsTopic, messages });
  await producer.disconnect();
}

async function measure(config: RuntimeConfig, pool: string, many: number): Promise<void> {
  const host = await startHostProcess(['all'], scripted('looper'));
  const harness = new Harness({ brokers: config.brokers });
  const ids = Array.from({ length: many }, (_, index) => `${pool}-${process.pid}-${index}`);
  try {
    await fewP95Ms(harness, pool);
    const aloneMs = await fewP95Ms(harness, pool);
    await untilAsked(config, many, async () => {
      await sendGoals(
        config,
        ids.map((id) => ({ id, goal: 'bench', plan: `wait-${pool}`, ...acme })),
      );
    });
    // A thousand goals that come at once keep the event store busy for a while.
    await sleep(settleMs);
    const besideMs = await fewP95Ms(harness, pool);
    const movedPercent = (besideMs / aloneMs - 1) * 100;
    const figures = { aloneP95Ms: aloneMs, besideP95Ms: besideMs, movedPercent };
    print({ bench: `fairness-${pool}`, waiting: many, goals: fewGoals, ...figures });
    await sendGoals(
      config,
      ids.map((id) => ({ id, cancel: id, requestedBy: 'bench', ...acme })),
    );
    await sleep(settleMs);
  } finally {
    await harness.close();
    await host.stop();
  }
}

/** Both pools; `many` goals of the other tenant wait. */
export async function fairness(config: RuntimeConfig, many = 1_000): Promise<void> {
  await measure(config, 'fair', many);
  await measure(config, 'roomy', many);
}
