// The same as host-entry.mjs; its process kills itself when it decides something in a session that the environment names.
import { readRuntimeConfig } from '../../dist/services/chassis/config/runtime-config.js';
import { mainHost } from '../../dist/services/chassis/host/main.js';
import { readCatalog } from '../../dist/services/chassis/host/run-host.js';
import { factoriesOf } from '../../dist/services/main.js';
import { mortalFactories } from '../../dist/test/support/mortal-release.js';

const config = readRuntimeConfig();
const pools = readCatalog(config).pools.map((pool) => pool.name);
const clickhouse = config.clickhouseUrl !== undefined;
const factories = factoriesOf(process.argv.slice(2), { pools, clickhouse });
const [service = '', session = ''] = (process.env['LONGREIN_TEST_DIES_OF'] ?? '').split(' ');
await mainHost(mortalFactories(factories, { service, session }));
