import type { Catalog } from '../catalog/catalog.ts';
import { type RuntimeConfig, readRuntimeConfig } from '../config/runtime-config.ts';
import { LongreinError, toError } from '../errors.ts';
import { runHost } from './run-host.ts';
import type { ServiceFactory } from './service-context.ts';

function say(error: Error): void {
  const known = error instanceof LongreinError ? error : undefined;
  const line = { error: error.message, code: known?.code, fix: known?.fix };
  process.stderr.write(`${JSON.stringify({ level: 60, msg: 'host ends', ...line })}\n`);
}

function end(error: Error): never {
  say(error);
  process.exit(1);
}

/**
 * The whole life of a host process: start, say `{"event":"ready"}` on standard output, stop on SIGTERM or SIGINT within
 * ten seconds. A fatal error ends it with status 1 and a message; who runs it starts it again. `changes` go over what the
 * environment says; `catalog` is what whoever calls has read of it already.
 */
export async function mainHost(
  factories: readonly ServiceFactory[],
  changes: Partial<RuntimeConfig> = {},
  catalog?: Catalog,
): Promise<void> {
  process.on('unhandledRejection', (reason) => end(toError(reason)));
  process.on('uncaughtException', end);
  const config = { ...readRuntimeConfig(), ...changes };
  const running = await runHost(config, factories, end, catalog).catch((thrown: unknown) =>
    end(toError(thrown)),
  );
  let stopping = false;
  const stop = (): void => {
    if (stopping) return;
    stopping = true;
    setTimeout(() => process.exit(1), 9_500).unref();
    running
      .stop()
      .then(() => process.exit(0))
      .catch((thrown: unknown) => end(toError(thrown)));
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  await running.ready;
  process.stdout.write(
    `${JSON.stringify({ event: 'ready', host: running.host.identity.host, pid: process.pid })}\n`,
  );
}
