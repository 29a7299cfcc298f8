import { defineConfig } from 'vitest/config';
import { engineFlags } from './test/simulation/engine-flags.mjs';

/**
 * One project per folder of test/. `npm test` starts broker, registry and ClickHouse for those that need them. Files that
 * leave nothing behind share a process and what it has loaded: that is more than half of their time.
 */
const project = (
  name: string,
  testTimeoutMs = 20_000,
  { isolate = true, execArgv = [] }: { isolate?: boolean; execArgv?: string[] } = {},
) => ({
  test: {
    name,
    isolate,
    execArgv,
    include: [`test/${name}/**/*.test.ts`],
    environment: 'node' as const,
    testTimeout: testTimeoutMs,
    hookTimeout: Math.max(testTimeoutMs, 60_000),
  },
});

const together = { isolate: false };

/**
 * What only computes runs behind everything else and may get next to nothing for minutes: its limit ends what hangs, and
 * nothing that is slow.
 */
const computingMs = 1_200_000;

export default defineConfig({
  test: {
    projects: [
      project('tidy', computingMs, together),
      project('unit', computingMs, together),
      project('property', computingMs, together),
      project('replay', computingMs, together),
      project('simulation', computingMs, { isolate: false, execArgv: engineFlags }),
      project('contract', 180_000),
      project('integration', 240_000),
      project('system', 300_000),
      // Those of sessions in memory only compute; those on a broker wait with limits of their own.
      project('issues', computingMs),
    ],
  },
});
