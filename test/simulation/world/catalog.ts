import { join } from 'node:path';
import type { Catalog } from '../../../services/chassis/catalog/catalog.ts';
import { requireCatalog } from '../../../services/chassis/catalog/load.ts';
import { packageRoot } from '../../../services/chassis/config/package-root.ts';

let loaded: Catalog | undefined;

/** Plans, agents and tools of all runs: the examples, those of tests, and the storm of the simulation. */
export function simulatedCatalog(): Catalog {
  loaded ??= requireCatalog(
    [
      'deploy/examples',
      'test/fixtures/catalog',
      'test/fixtures/memory-world',
      'test/fixtures/simulation',
    ].map((path) => join(packageRoot, path)),
  );
  return loaded;
}
