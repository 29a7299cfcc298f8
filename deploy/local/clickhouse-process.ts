/**
 * The embedded ClickHouse engine as a process of the stack. The engine itself is in clickhouse/.
 */
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { LongreinError } from '../../services/chassis/errors.ts';
import { threadsWanted } from './clickhouse/config.ts';
import { type Environment, jvmEnvironment, type LocalSettings, packageRoot } from './config.ts';
import { loopback } from './ports.ts';
import { probeClickhouse } from './probes.ts';
import { type ProcessRecord, startDetached } from './processes.ts';
import { waitUntilReady } from './readiness.ts';

/**
 * Starts the engine on a port; with a token it answers only who shows it. Throws NOT_BUILT or
 * PROCESS_START.
 */
export async function launchClickhouse(
  settings: LocalSettings,
  port: number,
  token?: string,
): Promise<ProcessRecord> {
  const entry = join(packageRoot(), 'dist', 'deploy', 'local', 'clickhouse', 'main.js');
  if (!existsSync(entry)) {
    throw new LongreinError('NOT_BUILT', `${entry} is missing`, {
      fix: 'Run `npm run build` first.',
    });
  }
  const dataDir = join(settings.stateDir, 'clickhouse');
  await mkdir(dataDir, { recursive: true });
  return await startDetached({
    name: 'clickhouse',
    command: process.execPath,
    args: [entry],
    env: {
      ...jvmEnvironment(settings.environment),
      ...engineVariables(settings.environment),
      LONGREIN_CLICKHOUSE_DIR: dataDir,
      LONGREIN_CLICKHOUSE_PORT: String(port),
      ...(token === undefined ? {} : { LONGREIN_CLICKHOUSE_TOKEN: token }),
      // Read before any code runs; without it the engine starts itself a second time.
      UV_THREADPOOL_SIZE: String(threadsWanted),
    },
    cwd: settings.stateDir,
    logFile: join(settings.stateDir, 'logs', 'clickhouse.log'),
    port,
  });
}

/** Waits until the engine answers. Throws PROCESS_ENDED or NOT_READY. */
export async function clickhouseReady(record: ProcessRecord): Promise<void> {
  const url = clickhouseUrl(record);
  await waitUntilReady({ record, probe: () => probeClickhouse(url), deadlineMs: 60_000 });
}

/** HTTP address of an engine that was launched here. */
export function clickhouseUrl(record: ProcessRecord): string {
  return `http://${loopback}:${record.port}`;
}

/** Tokens and limits that the user set for the engine. */
function engineVariables(environment: Environment): Record<string, string | undefined> {
  const names = Object.keys(environment).filter((name) => name.startsWith('LONGREIN_CLICKHOUSE_'));
  return Object.fromEntries(names.map((name) => [name, environment[name]]));
}
