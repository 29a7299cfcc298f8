import { LongreinError } from './chassis/errors.ts';
import type { ServiceFactory } from './chassis/host/service-context.ts';
import type { FailureKeeping } from './event-store/service.ts';

/**
 * The composition root: the only place that knows all services. They never import each other; a host is any set of them.
 */

/** A service's code is loaded when a host runs it: a host of one carries no other. */
const loaded =
  (load: () => Promise<ServiceFactory>): ServiceFactory =>
  async (context) =>
    (await load())(context);

const single: Readonly<Record<string, ServiceFactory>> = {
  intake: loaded(async () => (await import('./intake/service.ts')).createIntake),
  planner: loaded(async () => (await import('./planner/service.ts')).createPlanner),
  supervisor: loaded(async () => (await import('./supervisor/service.ts')).createSupervisor),
  'model-gateway': loaded(
    async () => (await import('./model-gateway/service.ts')).createModelGateway,
  ),
  'tool-guard': loaded(async () => (await import('./tool-guard/service.ts')).createToolGuard),
  'tool-runner': loaded(async () => (await import('./tool-runner/service.ts')).createToolRunner),
  'sandbox-executor': loaded(
    async () => (await import('./sandbox-executor/service.ts')).createSandboxExecutor,
  ),
  aggregator: loaded(async () => (await import('./aggregator/service.ts')).createAggregator),
  janitor: loaded(async () => (await import('./janitor/service.ts')).createJanitor),
  'event-store': loaded(
    async () => (await import('./event-store/service.ts')).createEventStoreService,
  ),
};

const eventStore = (failures: FailureKeeping | undefined): ServiceFactory =>
  loaded(async () => (await import('./event-store/service.ts')).eventStoreKeeping(failures));

const pool = (name: string): ServiceFactory =>
  loaded(async () => (await import('./worker-pool/service.ts')).createWorkerPool(name));

/** Names that `longrein start` takes, besides `all`; `worker-pool` stands for every pool, `worker-pool:NAME` for one. */
export const serviceNames: readonly string[] = [...Object.keys(single), 'worker-pool'];

function unknownService(name: string): LongreinError {
  return new LongreinError('SERVICE_UNKNOWN', `there is no service "${name}"`, {
    fix: `name one or more of: all, ${serviceNames.join(', ')}, worker-pool:NAME`,
  });
}

function poolFactories(name: string, pools: readonly string[]): ServiceFactory[] {
  const [, named] = name.split(':');
  if (named === undefined) return pools.map(pool);
  if (pools.includes(named)) return [pool(named)];
  throw new LongreinError('POOL_UNKNOWN', `there is no pool "${named}"`, {
    fix: `the catalog's pools are: ${pools.join(', ')}`,
  });
}

export type Installation = Readonly<{
  /** Names of the catalog's pools. */
  pools: readonly string[];
  /** Without a ClickHouse, `all` leaves the event store out; by its name it still says what it misses. */
  clickhouse: boolean;
  /** How the event store keeps what people will want to see of a session that failed. */
  failures?: FailureKeeping;
}>;

/** The factories of the named services. Throws LongreinError SERVICE_UNKNOWN or POOL_UNKNOWN. */
export function factoriesOf(
  names: readonly string[],
  { pools, clickhouse, failures }: Installation,
): readonly ServiceFactory[] {
  const everything = serviceNames.filter((name) => clickhouse || name !== 'event-store');
  const wanted = names.includes('all') ? everything : names;
  return [...new Set(wanted)].flatMap((name) => {
    if (name === 'worker-pool' || name.startsWith('worker-pool:'))
      return poolFactories(name, pools);
    const factory = name === 'event-store' ? eventStore(failures) : single[name];
    if (factory === undefined) throw unknownService(name);
    return [factory];
  });
}
