import { defineConfig } from 'vitest/config';

/**
 * One project per folder of test/. `npm test` starts broker, registry and ClickHouse for those that need them. Files that
 * leave nothing behind share a process and what it has loaded: that is more than half of their time.
 */
const project = (name: string, testTimeoutMs = 20_000, isolate = true) => ({
  test: {
    name,
    isolate,
    include: [`test/${name}/**/*.test.ts`],
    environment: 'node' as const,
    testTimeout: testTimeoutMs,
    hookTimeout: Math.max(testTimeoutMs, 60_000),
  },
});

export default defineConfig({
  test: {
    projects: [
      project('tidy', 20_000, false),
      project('unit', 30_000, false),
      project('property', 120_000, false),
      project('replay', 60_000, false),
      project('simulation', 300_000, false),
      project('contract', 180_000),
      project('integration', 240_000),
      project('system', 300_000),
      project('issues', 240_000),
    ],
  },
});
