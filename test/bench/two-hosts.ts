import { setTimeout as sleep } from 'node:timers/promises';
import type { RuntimeConfig } from '../../services/chassis/config/runtime-config.ts';
import { createKafkaLog } from '../../services/chassis/log/kafka/kafka-log.ts';
import { percentile, print } from './figures.ts';
import { startHostProcess } from './host-process.ts';
import { type Loops, loopServices, openLoops, scripted } from './loops.ts';
import { processorMs } from './memory.ts';

const tasks = 1_000;
const rounds = 3;
/** For the groups to give the second host its half, and for it to own that. */
const settleMs = 12_000;

const items = Array.from({ length: tasks }, (_, at) => at);

/**
 * One goal of a thousand tasks: the middle of some rounds. `busiestCpuMs` is what a goal takes of the processor in the host
 * that has most to do: where hosts share too few processors with the broker, only this shows how the work is divided.
 */
type Taken = Readonly<{ goalMs: number; busiestCpuMs: number }>;

async function goal(loops: Loops, hosts: number): Promise<Taken> {
  const startHost = () => startHostProcess(loopServices, scripted('looper'));
  const running = await Promise.all(Array.from({ length: hosts }, startHost));
  try {
    await sleep(settleMs);
    await loops.run('thousand', { inputs: { items } });
    const before = running.map(({ pid }) => processorMs(pid));
    const took: number[] = [];
    for (let round = 0; round < rounds; round += 1)
      took.push(await loops.run('thousand', { inputs: { items } }));
    const cpuMs = running.map(({ pid }, at) => processorMs(pid) - (before[at] ?? 0));
    return { goalMs: percentile(took, 0.5), busiestCpuMs: Math.max(...cpuMs) / rounds };
  } finally {
    await Promise.all(running.map((host) => host.stop()));
  }
}

/** A thousand tasks of one goal, in child sessions over all partitions: by two hosts and by one. */
export async function twoHosts(config: RuntimeConfig): Promise<void> {
  const log = createKafkaLog({ brokers: config.brokers, clientId: 'bench' });
  const { loops, close } = await openLoops(config, log);
  try {
    const one = await goal(loops, 1);
    const two = await goal(loops, 2);
    print({
      ...{ bench: 'plan-two-hosts', tasks, oneHostMs: one.goalMs, twoHostsMs: two.goalMs },
      ...{ ratio: one.goalMs / two.goalMs, oneHostCpuMs: one.busiestCpuMs },
      ...{ busierOfTwoCpuMs: two.busiestCpuMs, cpuRatio: one.busiestCpuMs / two.busiestCpuMs },
    });
  } finally {
    await close();
    await log.close();
  }
}
