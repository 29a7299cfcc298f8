/**
 * What is remembered of a host beside its process record: with which settings it was started, and
 * whether it said that it is ready. In `<stateDir>/hosts.json`.
 */
import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { readJsonIfThere, writeJsonAtomic } from '../../../deploy/local/files.ts';
import { packageRoot } from '../../chassis/config/package-root.ts';
import { hostVariables } from './config.ts';
import type { HostPlan } from './host-plan.ts';

export interface HostNote {
  readonly pid: number;
  readonly settings: string;
  readonly ready: boolean;
}

export type HostMemory = Readonly<Record<string, HostNote>>;

/** What a host takes from outside when it starts. */
export interface HostSettings {
  readonly env: Record<string, string | undefined>;
  /** Addresses that the hosts read when they start. */
  readonly addresses: readonly (string | null)[];
}

/** Where it is kept; `down` removes it. */
export const memoryPath = (stateDir: string): string => join(stateDir, 'hosts.json');

/** What was remembered; nothing known is an empty record. */
export async function readMemory(stateDir: string): Promise<HostMemory> {
  const value = await readJsonIfThere(memoryPath(stateDir));
  return typeof value === 'object' && value !== null ? (value as HostMemory) : {};
}

/** Remembers these hosts in place of all others. */
export async function writeMemory(stateDir: string, memory: HostMemory): Promise<void> {
  await writeJsonAtomic(memoryPath(stateDir), memory);
}

/**
 * A hash of all that a host takes from outside when it starts, its code included. There may be keys
 * in it, so only the hash is kept.
 */
export function fingerprint({ env, addresses }: HostSettings, plan: HostPlan): string {
  const built = statSync(join(packageRoot, 'dist', '.built'), { throwIfNoEntry: false });
  const parts = [plan.services, addresses, hostVariables(env), built?.mtimeMs];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}
