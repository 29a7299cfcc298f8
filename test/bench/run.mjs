// `npm run bench`: builds, starts a stack of its own (or uses LONGREIN_BENCH_STATE_DIR), prints one JSON line per figure.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureBuilt } from '../../deploy/local/bootstrap.mjs';

await ensureBuilt({ tests: true });
const names = process.argv.slice(2);
const { bench, benchAlone } = await import('../../dist/test/bench/main.js');

async function withStack() {
  const scratch = mkdtempSync(join(tmpdir(), 'longrein-bench-'));
  process.env.LONGREIN_STATE_DIR = join(scratch, '.longrein');
  const { up, down } = await import('../../dist/deploy/local/stack.js');
  const tell = (event) => {
    if (event.kind === 'step')
      process.stderr.write(`${event.name} ${event.state} ${event.detail}\n`);
  };
  try {
    const stack = await up({}, tell);
    await bench(stack, names);
  } finally {
    await down({ wipe: true }, tell);
    rmSync(scratch, { recursive: true, force: true });
  }
}

try {
  if (!(await benchAlone(names))) await withStack();
} catch (error) {
  if (error.fix === undefined) throw error;
  process.stderr.write(`${error.message}\n${error.fix}\n`);
  process.exitCode = 1;
}
