import { join } from 'node:path';
import { loadCatalog } from '../../chassis/catalog/load.ts';
import { packageRoot } from '../../chassis/config/package-root.ts';
import { modelOf } from './config.ts';
import type { Environment } from './terminal.ts';

/** Every model that the catalog names: in models.yaml, or by an agent itself. */
export function modelsNamed(environment: Environment): readonly string[] {
  const chosen = modelOf(environment);
  if (chosen !== undefined) return [chosen];
  const given = environment['LONGREIN_CATALOG']?.split(',').map((one) => one.trim());
  const directories = given ?? [join(packageRoot, 'deploy/examples')];
  const { models, agents } = loadCatalog(directories.filter((one) => one !== '')).catalog;
  const direct = Object.values(agents)
    .flatMap((agent) =>
      agent.kind === 'model'
        ? [agent.model]
        : agent.steps.flatMap(({ embed }) => (embed === undefined ? [] : [embed.model])),
    )
    .filter((name) => name.includes('/'));
  return [...new Set([...Object.values(models).flat(), ...direct])].sort();
}
