import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../../../services/chassis/config/package-root.ts';

test('the lane of a real model says what it needs, and starts nothing without it', () => {
  const { LONGREIN_REAL_MODEL_URL: _none, ...env } = process.env;
  const run = spawnSync(process.execPath, [join(packageRoot, 'test/real-model/run.mjs')], { env });
  expect(run.status).toBe(2);
  expect(run.stderr.toString()).toContain('LONGREIN_REAL_MODEL_URL is not set');
  expect(run.stdout.toString()).toBe('');
});
