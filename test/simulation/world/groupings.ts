import type { Dice } from './dice.ts';

/** Which services share a host. */

const common: readonly (readonly string[])[] = [
  ['all'],
  ['intake', 'aggregator', 'planner'],
  ['intake'],
  ['planner', 'supervisor'],
  ['supervisor'],
  ['worker-pool'],
  ['worker-pool:test', 'tool-guard', 'tool-runner'],
  ['tool-runner'],
  ['tool-guard', 'sandbox-executor'],
  ['model-gateway', 'sandbox-executor'],
  ['model-gateway', 'worker-pool', 'aggregator'],
  ['supervisor', 'worker-pool', 'tool-guard', 'tool-runner', 'intake'],
];

/** Hosts that are there from the start; together they run everything. */
export const beginnings: readonly (readonly (readonly string[])[])[] = [
  [['all']],
  [['all'], ['all']],
  [['all'], ['all'], ['supervisor', 'worker-pool']],
  [
    ['intake', 'planner', 'supervisor', 'aggregator'],
    ['worker-pool', 'tool-guard'],
    ['tool-runner', 'sandbox-executor', 'model-gateway'],
  ],
  [
    ['intake', 'planner', 'supervisor', 'aggregator', 'model-gateway'],
    ['worker-pool', 'tool-guard', 'tool-runner', 'sandbox-executor'],
    ['worker-pool', 'tool-guard', 'tool-runner', 'sandbox-executor'],
  ],
];

const single: readonly string[] = [
  ...['intake', 'planner', 'supervisor', 'aggregator', 'tool-guard', 'tool-runner'],
  ...['sandbox-executor', 'model-gateway', 'worker-pool:test', 'worker-pool:analysis'],
];

/** One that people would choose, or any at all. */
export function groupingOf(dice: Dice): readonly string[] {
  if (dice.chance(0.6)) return dice.pick(common);
  const drawn = single.filter(() => dice.chance(0.35));
  return drawn.length > 0 ? drawn : [dice.pick(single)];
}
