import { join } from 'node:path';
import { type Catalog, createCatalog } from '../../../services/chassis/catalog/catalog.ts';
import { requireCatalog } from '../../../services/chassis/catalog/load.ts';
import { packageRoot } from '../../../services/chassis/config/package-root.ts';

let loaded: Catalog | undefined;

const folders = [
  'deploy/examples',
  'test/fixtures/catalog',
  'test/fixtures/memory-world',
  'test/fixtures/simulation',
];

/** A pool of the examples gets one: a pool more would be a service more on every host. */
const brittlePool = 'classifying';

/** Made anew of its parts: what sessions pin follows from the pools. */
function withBreaker(catalog: Catalog): Catalog {
  const breaker = { failuresMax: 2, coolMs: 500 };
  const pools = catalog.pools.map((pool) =>
    pool.name === brittlePool ? { ...pool, breaker } : pool,
  );
  const { names } = catalog;
  return createCatalog({ ...catalog, pools }, { names, problems: [], fileOf: new Map() });
}

/** Plans, agents and tools of all runs: the examples, those of tests, and the storm of the simulation. */
export function simulatedCatalog(): Catalog {
  loaded ??= withBreaker(requireCatalog(folders.map((path) => join(packageRoot, path))));
  return loaded;
}
