// Runs the built services that the arguments name in this process, as a host of a stack does.
import { readRuntimeConfig } from '../../dist/services/chassis/config/runtime-config.js';
import { mainHost } from '../../dist/services/chassis/host/main.js';
import { readCatalog } from '../../dist/services/chassis/host/run-host.js';
import { failureKeeping } from '../../dist/services/console/cli/failure-keeping.js';
import { factoriesOf } from '../../dist/services/main.js';

const config = readRuntimeConfig();
const catalog = readCatalog(config);
const pools = catalog.pools.map((pool) => pool.name);
const clickhouse = config.clickhouseUrl !== undefined;
const installation = { pools, clickhouse, failures: failureKeeping };
await mainHost(factoriesOf(process.argv.slice(2), installation), {}, catalog);
