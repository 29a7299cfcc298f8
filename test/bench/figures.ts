import { cpus, totalmem } from 'node:os';

/** The value below which this share of the samples lies. */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = [...samples].sort((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

const round = (value: number): number => Math.round(value * 100) / 100;

/** What stands after `--name` among the arguments of the bench. */
export function wordOf(names: readonly string[], name: string, otherwise: string): string {
  const at = names.indexOf(name);
  return at < 0 ? otherwise : (names[at + 1] ?? '');
}

/** The number after `--name` among the arguments of the bench. */
export function countOf(names: readonly string[], name: string, otherwise: number): number {
  const at = names.indexOf(name);
  return at < 0 ? otherwise : Number(names[at + 1] ?? 0);
}

export type Figure = Readonly<Record<string, string | number>>;

/** One JSON line on standard output. Milliseconds have two decimals. */
export function print(figure: Figure): void {
  const rounded = Object.entries(figure).map(([name, value]) => [
    name,
    typeof value === 'number' ? round(value) : value,
  ]);
  process.stdout.write(`${JSON.stringify(Object.fromEntries(rounded))}\n`);
}

export const spread = (samples: readonly number[]): Figure => ({
  n: samples.length,
  p50Ms: percentile(samples, 0.5),
  p95Ms: percentile(samples, 0.95),
  p99Ms: percentile(samples, 0.99),
});

/** What the figures were made on. */
export const machine = (): Figure => ({
  bench: 'machine',
  cores: cpus().length,
  memoryGib: totalmem() / 2 ** 30,
  node: process.version,
});
