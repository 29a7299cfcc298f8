import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { LongreinError, toError } from '../../../services/chassis/errors.ts';
import { readConfig, threadsSuffice, threadsWanted } from './config.ts';
import { ClickHouseServer } from './server.ts';

/**
 * The embedded ClickHouse as a process. Prints one line of JSON when it listens:
 * `{"event":"listening","port":N,"pid":N}`; `pid` is the process that holds the data. SIGTERM ends
 * it gracefully. Whoever starts it with UV_THREADPOOL_SIZE set high enough saves the second
 * process.
 */
if (threadsSuffice(process.env)) await serve();
else startAgain();

async function serve(): Promise<void> {
  try {
    const server = await ClickHouseServer.start(readConfig(process.env));
    stopWhenTold(server);
    const line = { event: 'listening', port: server.port, pid: process.pid };
    process.stdout.write(`${JSON.stringify(line)}\n`);
  } catch (thrown) {
    process.stderr.write(`${describe(toError(thrown))}\n`);
    process.exitCode = 1;
    if (process.connected) process.disconnect();
  }
}

function stopWhenTold(server: ClickHouseServer): void {
  const stop = () => {
    server.stop().then(
      () => process.exit(0),
      (thrown: unknown) => {
        process.stderr.write(`${describe(toError(thrown))}\n`);
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  // The process that started this one by `startAgain` is gone, however it ended.
  process.on('disconnect', stop);
}

/**
 * The size of libuv's thread pool is read before any of our code runs: so it takes a new process.
 */
function startAgain(): void {
  const child = spawn(process.execPath, [...process.execArgv, fileURLToPath(import.meta.url)], {
    env: { ...process.env, UV_THREADPOOL_SIZE: String(threadsWanted) },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => child.kill(signal));
  child.on('exit', (code) => process.exit(code ?? 1));
}

function describe(error: Error): string {
  if (!(error instanceof LongreinError)) return error.stack ?? error.message;
  return `${error.code}: ${error.message}${error.fix === undefined ? '' : ` ${error.fix}`}`;
}
