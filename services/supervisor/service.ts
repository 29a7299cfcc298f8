import type { PoolLimits } from '../../schemas/definitions/pool.ts';
import { lanes, poolsTopic, sessionTopic } from '../../schemas/topics.ts';
import type { Catalog } from '../chassis/catalog/catalog.ts';
import { anyLogic, type ServiceFactory } from '../chassis/host/service-context.ts';
import { supervisorLogic } from './decide.ts';
import type { SupervisorState } from './state.ts';

/** Only the log of a pool looks at anything outside: at its limits. */
function factsOf({ pools }: Catalog, { poolLog }: SupervisorState) {
  if (poolLog === undefined) return { facts: {} };
  const pool = pools.find(({ name }) => name === poolLog.pool);
  // A pool that has left the catalog limits nobody any more.
  if (pool === undefined) return { facts: { limits: {} } };
  const { name: _name, description: _text, ...limits } = pool;
  return { facts: { limits: limits as Required<PoolLimits> } };
}

/** Works on sessions of every lane, and shares out the places of pools. */
export const createSupervisor: ServiceFactory = ({ catalog }) => ({
  hosted: {
    logic: anyLogic(supervisorLogic),
    topics: [...lanes.map(sessionTopic), poolsTopic],
    keepsLetters: [...lanes.map(sessionTopic), poolsTopic],
    facts: (state) => factsOf(catalog, state as SupervisorState),
  },
});
