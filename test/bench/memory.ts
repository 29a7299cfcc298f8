import { readFileSync } from 'node:fs';
import { print } from './figures.ts';
import { startHostProcess } from './host-process.ts';

const mebibyte = 1_048_576;

/** Resident memory of a process in bytes, from the kernel. */
export function residentBytes(pid: number): number {
  const line = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(line?.[1] ?? 0) * 1024;
}

async function measure(name: string, services: readonly string[]): Promise<void> {
  const host = await startHostProcess(services);
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  print({ bench: 'memory-idle', host: name, rssMib: residentBytes(host.pid) / mebibyte });
  await host.stop();
}

/** Idle memory of one service and of a host with all of them. */
export async function memory(): Promise<void> {
  await measure('planner', ['planner']);
  await measure('tool-guard', ['tool-guard']);
  await measure('all', ['all']);
}
