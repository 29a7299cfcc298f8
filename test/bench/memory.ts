import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { print } from './figures.ts';
import { startHostProcess } from './host-process.ts';

const mebibyte = 1_048_576;
const idleMs = 20_000;

/** Resident memory of a process in bytes, from the kernel. */
export function residentBytes(pid: number): number {
  const line = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(line?.[1] ?? 0) * 1024;
}

/** Processor time of a process so far, in milliseconds: the kernel counts hundredths of a second. */
export function processorMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

async function measure(name: string, services: readonly string[]): Promise<void> {
  const host = await startHostProcess(services);
  await sleep(5_000);
  const before = processorMs(host.pid);
  await sleep(idleMs);
  const idlePercent = ((processorMs(host.pid) - before) / idleMs) * 100;
  print({ bench: 'idle', host: name, rssMib: residentBytes(host.pid) / mebibyte, idlePercent });
  await host.stop();
}

/** Memory of an idle host, and what it takes of one core: of one service, and of all. */
export async function memory(): Promise<void> {
  await measure('planner', ['planner']);
  await measure('tool-guard', ['tool-guard']);
  await measure('all', ['all']);
}
