import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RuntimeConfig } from '../../services/chassis/config/runtime-config.ts';
import { Harness } from '../../services/client/index.ts';
import { print, spread } from './figures.ts';
import { type HostProcess, startHostProcess } from './host-process.ts';
import { benchFixtures } from './loops.ts';
import { processorMs, residentBytes } from './memory.ts';
import { startStubProcess } from './stub-process.ts';

/**
 * Many model calls at once in one host: 500 that take a second each, asked for within a second by ten goals. What the
 * host adds to each, from the request in the log to its outcome there, what each takes of the processor in the host, and
 * what they hold in memory.
 */

const goals = 10;
const callsPerGoal = 50;
const callMs = 1_000;
const mebibyte = 1_048_576;

type Asked = { requestedMs: number; endedMs: number };

/** Watches what the host holds until it is told to stop; the most of it, in bytes. */
function watchMemory({ pid }: HostProcess): () => number {
  let most = residentBytes(pid);
  const timer = setInterval(() => {
    most = Math.max(most, residentBytes(pid));
  }, 50);
  return () => {
    clearInterval(timer);
    return most;
  };
}

/** When each call of the goal was asked for and ended, by the log. */
async function callsOf(harness: Harness, id: string): Promise<readonly Asked[]> {
  const calls = new Map<string, Asked>();
  const inputs = { numbers: Array.from({ length: callsPerGoal }, (_, at) => at) };
  await harness.run({
    ...{ id, plan: 'burst', inputs, tenant: 'bench' },
    onEvent: ({ event }) => {
      if (event.type === 'model.requested')
        calls.set(event.data.call, { requestedMs: event.atMs, endedMs: 0 });
      const known = event.type === 'model.completed' ? calls.get(event.data.call) : undefined;
      if (known !== undefined) known.endedMs = event.atMs;
    },
  });
  return [...calls.values()];
}

async function rounds(harness: Harness, host: HostProcess): Promise<void> {
  const run = (name: string, count: number) =>
    Promise.all(
      Array.from({ length: count }, (_, at) => callsOf(harness, `${name}-${process.pid}-${at}`)),
    );
  await run('warm', 2);
  await sleep(2_000);
  const before = residentBytes(host.pid);
  const most = watchMemory(host);
  const cpuBeforeMs = processorMs(host.pid);
  const all = (await run('burst', goals)).flat();
  const hostCpuMsPerCall = (processorMs(host.pid) - cpuBeforeMs) / all.length;
  const growthMib = (most() - before) / mebibyte;
  const ended = all.filter(({ endedMs }) => endedMs > 0);
  const overhead = ended.map(({ requestedMs, endedMs }) => endedMs - requestedMs - callMs);
  const starts = all.map(({ requestedMs }) => requestedMs);
  const startedWithinMs = Math.max(...starts) - Math.min(...starts);
  const figures = { ...spread(overhead), startedWithinMs, hostCpuMsPerCall, growthMib };
  print({ bench: 'gateway-burst', calls: all.length, ended: ended.length, ...figures });
}

/** In one host of all services. */
export async function burst(config: RuntimeConfig): Promise<void> {
  const ways = { burst: { takesMs: callMs, words: ['Yes', ', it', ' is.'] } };
  const stub = await startStubProcess(ways);
  const directory = mkdtempSync(join(tmpdir(), 'longrein-burst-'));
  const providers = join(directory, 'providers.yaml');
  writeFileSync(providers, `providers:\n  stub: { baseUrl: ${stub.url} }\n`);
  const host = await startHostProcess(['all'], {
    LONGREIN_CATALOG: benchFixtures,
    LONGREIN_PROVIDERS_FILE: providers,
  });
  const harness = new Harness({ brokers: config.brokers });
  try {
    await rounds(harness, host);
  } finally {
    await harness.close();
    await host.stop();
    await stub.stop();
    rmSync(directory, { recursive: true });
  }
}
