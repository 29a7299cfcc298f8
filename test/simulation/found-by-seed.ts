/**
 * Seeds that once found something, and the test that keeps what they found: seeds are drawn anew whenever the schedules
 * change, so each is named there.
 */
export const foundBySeed: readonly Readonly<{ seed: number; found: string; test: string }>[] = [
  ...[
    'test/unit/services/model-gateway/decide.test.ts',
    'test/unit/services/sandbox-executor/decide.test.ts',
    'test/unit/services/tool-runner/decide.test.ts',
  ].map((test) => ({
    ...{ seed: 500063, test },
    found: 'a claim that was made again for a settled call kept what it was lent',
  })),
  {
    seed: 22,
    found: 'a debounced goal that was superseded and cancelled as its wait ended kept its key',
    test: 'test/unit/services/intake/debounce.test.ts',
  },
  {
    seed: 190,
    found: 'a template that was taken out while an attempt of it completed never came back',
    test: 'test/unit/services/supervisor/template-suspended-late.test.ts',
  },
  {
    seed: 245,
    found: 'a decision that was being named when its partition was won again was forgotten',
    test: 'test/unit/services/chassis/host/caution.test.ts',
  },
  {
    seed: 276,
    found: 'a store that stopped while the database was away said that its promise was broken',
    test: 'test/unit/services/event-store/event-store.test.ts',
  },
  {
    seed: 234,
    found: 'a run was broken off before the longest time-out of a tool was over',
    test: 'test/simulation/world/run.ts',
  },
  {
    seed: 138,
    found: 'the checker of checkpoints took a decision without its facts for one that is due',
    test: 'test/simulation/checkers-of-logs.test.ts',
  },
  {
    seed: 186,
    found: 'the checker of rows counted a checkpoint that came after the end of its session',
    test: 'test/simulation/checkers.test.ts',
  },
  {
    seed: 537,
    found: 'a schedule in which no host was left had no zombie',
    test: 'test/simulation/checkers.test.ts',
  },
  {
    seed: 900126,
    found: 'the checker of plans made anew missed what was given up before',
    test: 'test/simulation/checkers-of-logs.test.ts',
  },
];
