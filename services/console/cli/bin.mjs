#!/usr/bin/env node
// The command `longrein`. Installs and builds what is missing first, so that it works in a fresh
// clone; hosts use dist/services/console/cli/main.js directly.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

try {
  const { ensureBuilt, packageRoot } = await import('../../../deploy/local/bootstrap.mjs');
  await ensureBuilt({ quiet: true });
  const entry = join(packageRoot, 'dist', 'services', 'console', 'cli', 'main.js');
  await import(pathToFileURL(entry).href);
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  const fix = 'Read the output above; `npm ci` and `npx tsc -p .` in the clone show it in full.';
  if (process.argv.includes('--json')) {
    process.stdout.write(`${JSON.stringify({ error: { code: 'NOT_BUILT', message, fix } })}\n`);
  } else {
    process.stderr.write(`error  ${message}\nfix    ${fix}\n`);
  }
  process.exitCode = 1;
}
