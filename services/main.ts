import { createAggregator } from './aggregator/service.ts';
import { LongreinError } from './chassis/errors.ts';
import type { ServiceFactory } from './chassis/host/service-context.ts';
import { createEventStoreService } from './event-store/service.ts';
import { createIntake } from './intake/service.ts';
import { createModelGateway } from './model-gateway/service.ts';
import { createPlanner } from './planner/service.ts';
import { createSandboxExecutor } from './sandbox-executor/service.ts';
import { createSupervisor } from './supervisor/service.ts';
import { createToolGuard } from './tool-guard/service.ts';
import { createToolRunner } from './tool-runner/service.ts';
import { createWorkerPool } from './worker-pool/service.ts';

/**
 * The composition root: the only place that knows all services. They never import each other; a host is any set of them.
 */

const single: Readonly<Record<string, ServiceFactory>> = {
  intake: createIntake,
  planner: createPlanner,
  supervisor: createSupervisor,
  'model-gateway': createModelGateway,
  'tool-guard': createToolGuard,
  'tool-runner': createToolRunner,
  'sandbox-executor': createSandboxExecutor,
  aggregator: createAggregator,
  'event-store': createEventStoreService,
};

/** Names that `longrein start` takes, besides `all`; `worker-pool` stands for every pool, `worker-pool:NAME` for one. */
export const serviceNames: readonly string[] = [...Object.keys(single), 'worker-pool'];

function unknownService(name: string): LongreinError {
  return new LongreinError('SERVICE_UNKNOWN', `there is no service "${name}"`, {
    fix: `name one or more of: all, ${serviceNames.join(', ')}, worker-pool:NAME`,
  });
}

function poolFactories(name: string, pools: readonly string[]): ServiceFactory[] {
  const [, pool] = name.split(':');
  if (pool === undefined) return pools.map(createWorkerPool);
  if (pools.includes(pool)) return [createWorkerPool(pool)];
  throw new LongreinError('POOL_UNKNOWN', `there is no pool "${pool}"`, {
    fix: `the catalog's pools are: ${pools.join(', ')}`,
  });
}

/** The factories of the named services. Throws LongreinError SERVICE_UNKNOWN or POOL_UNKNOWN. */
export function factoriesOf(
  names: readonly string[],
  pools: readonly string[],
): readonly ServiceFactory[] {
  const wanted = names.includes('all') ? serviceNames : names;
  return [...new Set(wanted)].flatMap((name) => {
    if (name === 'worker-pool' || name.startsWith('worker-pool:'))
      return poolFactories(name, pools);
    const factory = single[name];
    if (factory === undefined) throw unknownService(name);
    return [factory];
  });
}
