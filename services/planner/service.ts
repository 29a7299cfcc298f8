import type { JsonObject, JsonValue } from '../../schemas/json.ts';
import { lanes, sessionTopic } from '../../schemas/topics.ts';
import type { Catalog } from '../chassis/catalog/catalog.ts';
import { anyLogic, type ServiceFactory } from '../chassis/host/service-context.ts';
import { needsPlan, type PlannerFacts, plannerLogic } from './decide.ts';
import type { PlannerState } from './state.ts';

const poolsOf = (catalog: Catalog): string[] => catalog.pools.map((pool) => pool.name).sort();

function factsOf(catalog: Catalog, state: PlannerState) {
  if (state.revising?.asked !== undefined)
    return { facts: { plans: [], pools: poolsOf(catalog), problems: [] } as unknown as JsonObject };
  const name = needsPlan(state);
  if (name === undefined || state.request?.catalog !== undefined) return { facts: {} };
  const pinned = catalog.pinnedFor(name);
  const facts: PlannerFacts = {
    plans: Object.keys(catalog.plans).sort(),
    pools: poolsOf(catalog),
    problems: catalog.problemsOfPlan(name).map(({ file, line, column, reason, fix }) => ({
      where: `${file}:${line}:${column}`,
      reason,
      fix,
    })),
  };
  const attachments = pinned === undefined ? {} : { catalog: pinned as unknown as JsonValue };
  return { facts: facts as unknown as JsonObject, attachments };
}

/** Finds plans in the catalog of this host; what a session uses is pinned in its log. */
export const createPlanner: ServiceFactory = ({ catalog }) => ({
  hosted: {
    logic: anyLogic(plannerLogic),
    topics: lanes.map(sessionTopic),
    facts: (state) => factsOf(catalog, state as PlannerState),
  },
});
