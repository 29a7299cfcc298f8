// `npm run torture -- --minutes M`: builds, then runs the torture. A signal ends it with all its processes.
import { ensureBuilt } from '../../deploy/local/bootstrap.mjs';

await ensureBuilt({ quiet: true, tests: true });
const { main } = await import('../../dist/test/torture/main.js');
// The reaper ends the processes once this one is gone.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130));
try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${error.stack ?? error}\n`);
  process.exitCode = 2;
}
