// The same as host-entry.mjs, of the release that tests take for the next one.
import { readRuntimeConfig } from '../../dist/services/chassis/config/runtime-config.js';
import { mainHost } from '../../dist/services/chassis/host/main.js';
import { readCatalog } from '../../dist/services/chassis/host/run-host.js';
import { factoriesOf } from '../../dist/services/main.js';
import { nextFactories, nextReleaseName } from '../../dist/test/support/next-release.js';

const config = readRuntimeConfig();
const pools = readCatalog(config).pools.map((pool) => pool.name);
const clickhouse = config.clickhouseUrl !== undefined;
const factories = factoriesOf(process.argv.slice(2), { pools, clickhouse });
await mainHost(nextFactories(factories), { release: nextReleaseName });
