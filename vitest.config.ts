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

export default defineConfig({
  test: {
    projects: [
      project('tidy', 20_000, together),
      project('unit', 30_000, together),
      project('property', 120_000, together),
      project('replay', 60_000, together),
      project('simulation', 300_000, { isolate: false, execArgv: engineFlags }),
      project('contract', 180_000),
      project('integration', 240_000),
      project('system', 300_000),
      project('issues', 240_000),
    ],
  },
});
