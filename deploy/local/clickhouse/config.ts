import { resolve } from 'node:path';
import { LongreinError } from '../../../services/chassis/errors.ts';

/**
 * What the embedded engine is started with. Everything comes from the environment; nothing else in
 * this folder reads it.
 */
export type EngineConfig = Readonly<{
  /** Holds everything the engine keeps; one process at a time. */
  directory: string;
  /** 0 takes a free port. */
  port: number;
  /** When set, every caller must show it. */
  token: string | undefined;
  /** When set, the user `analyst` must show this one, and it opens nothing else. */
  analystToken: string | undefined;
  /** Ceiling for the whole engine; a query that would pass it fails, the process lives on. */
  memoryBytesMax: number;
  /** Statements that run at once. */
  sessionsMax: number;
  /** Statements that may wait for their turn. */
  waitingMax: number;
  waitMs: number;
  /** Of one request, after decompression. */
  bodyBytesMax: number;
  /** Of all requests that are being read or wait. */
  heldBytesMax: number;
  executionSecondsMax: number;
  /** How long running statements may take to end when the engine is told to stop. */
  stopMs: number;
}>;

const MEBIBYTE = 1024 * 1024;

export const engineDefaults = {
  memoryBytesMax: 1500 * 1000 * 1000,
  sessionsMax: 8,
  waitingMax: 256,
  waitMs: 30_000,
  bodyBytesMax: 64 * MEBIBYTE,
  heldBytesMax: 512 * MEBIBYTE,
  executionSecondsMax: 300,
  stopMs: 30_000,
} as const;

/** Every running statement holds a thread of libuv; files, DNS and zlib need some beside them. */
export const threadsWanted = engineDefaults.sessionsMax + 8;

type Environment = Readonly<Record<string, string | undefined>>;

/** Reads the configuration. Throws `CLICKHOUSE_CONFIG_INVALID` and names the variable. */
export function readConfig(environment: Environment): EngineConfig {
  const directory = text(environment, 'LONGREIN_CLICKHOUSE_DIR');
  if (directory === undefined) {
    throw invalid('LONGREIN_CLICKHOUSE_DIR', 'is not set', 'name a directory for its data');
  }
  return {
    ...engineDefaults,
    directory: resolve(directory),
    port: integer(environment, 'LONGREIN_CLICKHOUSE_PORT', [0, 65535]) ?? 0,
    token: text(environment, 'LONGREIN_CLICKHOUSE_TOKEN'),
    analystToken: text(environment, 'LONGREIN_CLICKHOUSE_ANALYST_TOKEN'),
    memoryBytesMax:
      integer(environment, 'LONGREIN_CLICKHOUSE_MEMORY_BYTES', [300_000_000, 2 ** 40]) ??
      engineDefaults.memoryBytesMax,
  };
}

/** Whether libuv was started with enough threads; later it cannot be changed any more. */
export function threadsSuffice(environment: Environment): boolean {
  return Number(environment.UV_THREADPOOL_SIZE ?? 0) >= threadsWanted;
}

function text(environment: Environment, name: string): string | undefined {
  const value = environment[name];
  return value === undefined || value === '' ? undefined : value;
}

function integer(
  environment: Environment,
  name: string,
  [low, high]: readonly [number, number],
): number | undefined {
  const value = text(environment, name);
  if (value === undefined) return undefined;
  const number = Number(value);
  if (Number.isInteger(number) && number >= low && number <= high) return number;
  throw invalid(name, `is "${value}"`, `give a whole number from ${low} to ${high}`);
}

function invalid(name: string, problem: string, fix: string): LongreinError {
  return new LongreinError('CLICKHOUSE_CONFIG_INVALID', `${name} ${problem}`, { fix });
}
