/** What happened in a run or in a batch of runs, by name. */
export type Coverage = Map<string, number>;

export function note(coverage: Coverage, name: string, count = 1): void {
  coverage.set(name, (coverage.get(name) ?? 0) + count);
}

export function addCoverage(to: Coverage, from: Coverage): void {
  for (const [name, count] of from) note(to, name, count);
}

/** Kinds that must occur in every batch of seeds, or the batch shows less than it claims. */
export const neededKinds: readonly string[] = [
  'fault crash',
  'fault crash while appending',
  'fault zombie: expelled',
  'fault zombie: expelled and deaf',
  'fault zombie: frozen',
  'fault slow reader',
  'fault silent presence',
  'fault rebalance',
  'fault record lost in reading',
  'fault broker away',
  'fault request lost',
  'fault acknowledgement lost',
  'fault request delayed',
  'fault request late',
  'fault request refused',
  'fault clock skew',
  'host started',
  'host stopped',
  'host of one service',
  'host of several services',
  'host of all services',
  'checkpoint asked for',
  'goal repeated',
  'goal cancelled',
  'goal cancelled first',
  'goal of a key',
  'goal refused',
  'tool slow',
  'tool hangs',
  'tool fails',
  'tool unknown',
  'model fails',
  'record void',
  'owner superseded',
  'turn from a checkpoint',
  'restored from a watermark',
  'state compared',
];

/** Needed names with a count of zero. */
export function missingKinds(coverage: Coverage, needed: readonly string[]): readonly string[] {
  return needed.filter((name) => (coverage.get(name) ?? 0) === 0);
}
