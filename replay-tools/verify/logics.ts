import { aggregatorLogic } from '../../services/aggregator/decide.ts';
import type { AnyLogic } from '../../services/chassis/protocol/service-logic.ts';
import { eventStoreLogic } from '../../services/event-store/decide.ts';
import { intakeLogic } from '../../services/intake/decide.ts';
import { modelGatewayLogic } from '../../services/model-gateway/decide.ts';
import { plannerLogic } from '../../services/planner/decide.ts';
import { sandboxExecutorLogic } from '../../services/sandbox-executor/decide.ts';
import { supervisorLogic } from '../../services/supervisor/decide.ts';
import { toolGuardLogic } from '../../services/tool-guard/decide.ts';
import { toolRunnerLogic } from '../../services/tool-runner/decide.ts';
import { createWorkerPoolLogic } from '../../services/worker-pool/decide.ts';

/** The decisions that this release can compute again. */

/**
 * The logic of a service by its name and, where there are several, the behaviour version that decided or that folded a
 * state; undefined for a service that this release does not have. One of another behaviour is answered where there is
 * none that fits.
 */
export type LogicLookup = (service: string, behaviour?: number) => AnyLogic | undefined;

const single: readonly unknown[] = [
  intakeLogic,
  plannerLogic,
  supervisorLogic,
  modelGatewayLogic,
  toolGuardLogic,
  toolRunnerLogic,
  sandboxExecutorLogic,
  aggregatorLogic,
  eventStoreLogic,
];
const poolPrefix = 'worker-pool:';

/** Every logic of this release, with a worker pool for each of these names. */
export function allLogics(pools: readonly string[]): readonly AnyLogic[] {
  return [...(single as readonly AnyLogic[]), ...pools.map(poolLogic)];
}

const poolLogics = new Map<string, AnyLogic>();
const poolLogicsMax = 1_000;

/** One for each pool: who verifies asks again for every turn. */
function poolLogic(pool: string): AnyLogic {
  const known = poolLogics.get(pool);
  if (known !== undefined) return known;
  if (poolLogics.size >= poolLogicsMax) poolLogics.clear();
  const logic = createWorkerPoolLogic(pool) as unknown as AnyLogic;
  poolLogics.set(pool, logic);
  return logic;
}

/** Looks in a list of logics. Of several of one service, the last is the newest. */
export function lookupIn(logics: readonly AnyLogic[]): LogicLookup {
  const byName = new Map<string, AnyLogic[]>();
  for (const logic of logics) byName.set(logic.name, [...(byName.get(logic.name) ?? []), logic]);
  return (service, behaviour) => {
    const own = byName.get(service);
    return own?.findLast((logic) => logic.behaviour === behaviour) ?? own?.at(-1);
  };
}

const ofRelease = lookupIn(single as readonly AnyLogic[]);

/** The logic of any service of this release; worker pools by whatever name they have. */
export const releaseLogics: LogicLookup = (service) =>
  service.startsWith(poolPrefix) ? poolLogic(service.slice(poolPrefix.length)) : ofRelease(service);
