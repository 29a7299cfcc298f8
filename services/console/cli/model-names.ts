import { join } from 'node:path';
import { type Catalog, modelsOfAgent, modelsOfPlan } from '../../chassis/catalog/catalog.ts';
import { loadCatalog } from '../../chassis/catalog/load.ts';
import { packageRoot } from '../../chassis/config/package-root.ts';
import { modelOf } from './config.ts';
import type { Environment } from './terminal.ts';

/**
 * Every model (`provider/model`) that work may ask for: those of models.yaml, or the one that stands in the place of
 * them all, and those that agents and plans name themselves.
 */
export function modelsNamed(environment: Environment): readonly string[] {
  const chosen = modelOf(environment);
  const given = environment['LONGREIN_CATALOG']?.split(',').map((one) => one.trim());
  const directories = given ?? [join(packageRoot, 'deploy/examples')];
  const { catalog } = loadCatalog(directories.filter((one) => one !== ''));
  const aliases = chosen === undefined ? Object.values(catalog.models).flat() : [chosen];
  return [...new Set([...aliases, ...namedDirectly(catalog)])].sort();
}

function namedDirectly({ agents, plans }: Catalog): string[] {
  const steps = Object.values(agents).flatMap((agent) =>
    agent.kind === 'procedure' ? agent.steps.flatMap(({ embed }) => embed?.model ?? []) : [],
  );
  const asked = [
    ...Object.values(agents).flatMap(modelsOfAgent),
    ...Object.values(plans).flatMap(modelsOfPlan),
  ];
  return [...steps, ...asked].filter((name) => name.includes('/'));
}
