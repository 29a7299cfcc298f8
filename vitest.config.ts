import { defineConfig } from 'vitest/config';

/** One project per folder of test/. `npm test` starts broker, registry and ClickHouse for those that need them. */
const project = (name: string, testTimeoutMs = 20_000) => ({
  test: {
    name,
    include: [`test/${name}/**/*.test.ts`],
    environment: 'node' as const,
    testTimeout: testTimeoutMs,
    hookTimeout: Math.max(testTimeoutMs, 60_000),
  },
});

export default defineConfig({
  test: {
    projects: [
      project('tidy'),
      project('unit', 30_000),
      project('property', 120_000),
      project('replay', 60_000),
      project('simulation', 300_000),
      project('contract', 180_000),
      project('integration', 240_000),
      project('system', 300_000),
      project('issues', 240_000),
    ],
  },
});
