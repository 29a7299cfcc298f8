import { setTimeout as sleep } from 'node:timers/promises';
import type { RuntimeConfig } from '../../services/chassis/config/runtime-config.ts';
import { createKafkaLog } from '../../services/chassis/log/kafka/kafka-log.ts';
import { percentile, print } from './figures.ts';
import { startHostProcess } from './host-process.ts';
import { type Loops, loopServices, openLoops, scripted } from './loops.ts';

const tasks = 1_000;
const rounds = 3;
/** For the groups to give the second host its half, and for it to own that. */
const settleMs = 12_000;

const items = Array.from({ length: tasks }, (_, at) => at);

/** Milliseconds of one goal of a thousand tasks: the middle of some rounds. */
async function goalMs(loops: Loops, hosts: number): Promise<number> {
  const startHost = () => startHostProcess(loopServices, scripted('looper'));
  const running = await Promise.all(Array.from({ length: hosts }, startHost));
  try {
    await sleep(settleMs);
    await loops.run('thousand', { inputs: { items } });
    const took: number[] = [];
    for (let round = 0; round < rounds; round += 1)
      took.push(await loops.run('thousand', { inputs: { items } }));
    return percentile(took, 0.5);
  } finally {
    await Promise.all(running.map((host) => host.stop()));
  }
}

/** A thousand tasks of one goal, in child sessions over all partitions: by two hosts and by one. */
export async function twoHosts(config: RuntimeConfig): Promise<void> {
  const log = createKafkaLog({ brokers: config.brokers, clientId: 'bench' });
  const { loops, close } = await openLoops(config, log);
  try {
    const oneHostMs = await goalMs(loops, 1);
    const twoHostsMs = await goalMs(loops, 2);
    print({ bench: 'plan-two-hosts', tasks, oneHostMs, twoHostsMs, ratio: oneHostMs / twoHostsMs });
  } finally {
    await close();
    await log.close();
  }
}
