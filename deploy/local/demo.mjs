// What `npm run demo` runs: makes the clone runnable, then `longrein demo` with what is behind `--`.
process.argv.splice(2, 0, 'demo');
await import('../../services/console/cli/bin.mjs');
