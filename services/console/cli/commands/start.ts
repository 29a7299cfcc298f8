import { nearest } from '../../../chassis/words/nearest.ts';
import type { CommandSpec } from '../context.ts';
import { UsageError } from '../exit-code.ts';

/** Runs a host in this process until it is told to stop. */
export const start: CommandSpec = {
  name: 'start <service...>',
  about: 'run services in this process until SIGTERM: `all`, or any of them',
  examples: [
    'longrein start all',
    'longrein start supervisor aggregator',
    'longrein start worker-pool:analysis',
  ],
  json: false,
  async run(call) {
    const { factoriesOf, serviceNames } = await import('../../../main.ts');
    for (const name of call.args) refuseUnknown(name, serviceNames);
    const { readRuntimeConfig } = await import('../../../chassis/config/runtime-config.ts');
    const { readCatalog } = await import('../../../chassis/host/run-host.ts');
    const { mainHost } = await import('../../../chassis/host/main.ts');
    const config = readRuntimeConfig(call.environment);
    const catalog = readCatalog(config);
    const pools = catalog.pools.map((pool) => pool.name);
    const clickhouse = config.clickhouseUrl !== undefined;
    const { failureKeeping } = await import('../failure-keeping.ts');
    const factories = factoriesOf(call.args, { pools, clickhouse, failures: failureKeeping });
    await mainHost(factories, {}, catalog);
    // From here on the host ends the process itself.
    return await new Promise<never>(() => undefined);
  },
};

function refuseUnknown(name: string, serviceNames: readonly string[]): void {
  const [service = ''] = name.split(':');
  const known = ['all', ...serviceNames];
  if (known.includes(service)) return;
  const meant = nearest(service, known);
  const advice = meant === undefined ? '' : `Did you mean ${meant}? `;
  throw new UsageError(`there is no service "${name}"`, `${advice}Known: ${known.join(', ')}.`);
}
