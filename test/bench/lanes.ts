import { Kafka, logLevel } from 'kafkajs';
import { goalsTopic, poolsTopic } from '../../schemas/topics.ts';
import type { RuntimeConfig } from '../../services/chassis/config/runtime-config.ts';
import { createKafkaLog } from '../../services/chassis/log/kafka/kafka-log.ts';
import { Harness } from '../../services/client/index.ts';
import { percentile, print } from './figures.ts';
import { startHostProcess } from './host-process.ts';
import { loopServices, scripted, tailOf } from './loops.ts';

/**
 * What ten thousand goals of the lane `bulk` do to those of the lane `high`, in one host of all services: while the many
 * wait for places in their pool, and while the host works them off as fast as it can.
 */

const highGoals = 100;
const perSend = 500;

/** Milliseconds of short goals, one after the other, from the client's call to the result. */
async function highMs(harness: Harness): Promise<readonly number[]> {
  const taken: number[] = [];
  for (let n = 0; n < highGoals; n += 1) {
    const startedMs = performance.now();
    const goal = { plan: 'walk', inputs: { steps: 1 }, priority: 'high' as const, tenant: 'bolt' };
    await harness.run(goal);
    taken.push(performance.now() - startedMs);
  }
  return taken;
}

/** Publishes goals of one plan in the lane `bulk`. */
async function sendBulk(config: RuntimeConfig, many: number, goal: object): Promise<void> {
  const kafka = new Kafka({ brokers: [...config.brokers], logLevel: logLevel.NOTHING });
  const producer = kafka.producer();
  await producer.connect();
  for (let from = 0; from < many; from += perSend) {
    const messages = Array.from({ length: Math.min(perSend, many - from) }, (_, n) => {
      const id = `bulk-${process.pid}-${Date.now()}-${from + n}`;
      const value = { id, goal: 'bench', priority: 'bulk', tenant: 'acme', ...goal };
      return { key: id, value: JSON.stringify(value) };
    });
    await producer.send({ topic: goalsTopic, messages });
  }
  await producer.disconnect();
}

/** Resolves once so many requests for a place stand in the logs of pools. */
async function waiting(config: RuntimeConfig, many: number, begin: () => Promise<void>) {
  const log = createKafkaLog({ brokers: config.brokers, clientId: 'bench' });
  let asked = 0;
  let done: () => void = () => undefined;
  const all = new Promise<void>((resolve) => {
    done = resolve;
  });
  const reader = await tailOf(log, poolsTopic, ({ headers }) => {
    if (headers['lr_types'] === 'slot.requested') asked += 1;
    if (asked >= many) done();
  });
  await begin();
  await all;
  await reader.close();
  await log.close();
}

function tell(bench: string, many: number, alone: readonly number[], beside: readonly number[]) {
  const [aloneP95Ms, besideP95Ms] = [percentile(alone, 0.95), percentile(beside, 0.95)];
  const [aloneP50Ms, besideP50Ms] = [percentile(alone, 0.5), percentile(beside, 0.5)];
  const movedPercent = (besideP95Ms / aloneP95Ms - 1) * 100;
  print({ bench, bulk: many, aloneP50Ms, besideP50Ms, aloneP95Ms, besideP95Ms, movedPercent });
}

/** Beside `many` goals that wait, then beside as many that are worked off. */
export async function lanes(config: RuntimeConfig, many: number): Promise<void> {
  const host = await startHostProcess(loopServices, scripted('walker'));
  const harness = new Harness({ brokers: config.brokers });
  try {
    await highMs(harness);
    const alone = await highMs(harness);
    await sendBulk(config, many, { plan: 'walk', inputs: { steps: 1 } });
    tell('lanes-working', many, alone, await highMs(harness));
    await waiting(config, many, () => sendBulk(config, many, { plan: 'wait-fair' }));
    tell('lanes-waiting', many, alone, await highMs(harness));
  } finally {
    await harness.close();
    await host.stop();
  }
}
