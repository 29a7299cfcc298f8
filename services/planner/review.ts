/** Whether a plan may serve a goal: the rules of plans, and the limits that the goal sets. Pure. */

import type { AgentDefinition } from '../../schemas/definitions/agent.ts';
import type { PinnedCatalog } from '../../schemas/definitions/catalog.ts';
import type { ToolDefinition } from '../../schemas/definitions/tool.ts';
import { validateInputs } from '../chassis/catalog/inputs.ts';
import type { CatalogNames } from '../chassis/catalog/known-names.ts';
import { workersOf } from '../chassis/catalog/plan-agents.ts';
import type { PlanViolation } from '../chassis/catalog/plan-violation.ts';
import type { Violation } from '../chassis/catalog/problem.ts';
import { validatePlan } from '../chassis/catalog/rules.ts';
import { memberWhere } from '../chassis/expressions/template.ts';
import type { PlanRequest } from './state.ts';

/** Every reason why the goal cannot follow the plan; empty when it can. */
export function reviewPlan(
  catalog: PinnedCatalog,
  request: PlanRequest,
  pools: readonly string[],
): readonly PlanViolation[] {
  const { plan } = catalog;
  const inputs = validateInputs(plan, request.inputs);
  return [
    ...validatePlan(plan, namesOf(catalog, pools)).map(placed),
    ...inputs.map(({ field, message, fix }) => ({ where: field, reason: message, fix })),
    ...poolViolations(catalog, request),
    ...riskViolations(catalog, request),
  ];
}

const namesOf = (catalog: PinnedCatalog, pools: readonly string[]): CatalogNames => ({
  pools,
  agents: Object.keys(catalog.agents),
  tools: Object.keys(catalog.tools),
  models: Object.keys(catalog.models),
  mcpServers: [],
});

const placed = ({ path, reason, fix }: Violation): PlanViolation => ({
  where: path.reduce<string>(memberWhere, ''),
  reason,
  fix,
});

function poolViolations({ plan }: PinnedCatalog, { agentPools }: PlanRequest): PlanViolation[] {
  if (agentPools === null) return [];
  return placedWorkers(plan).flatMap(({ id, pool, where }) => {
    if (agentPools.includes(pool)) return [];
    const allowed = agentPools.length === 0 ? 'no pool' : agentPools.join(', ');
    const reason = `Task "${id}" runs in the pool "${pool}", and the goal allows ${allowed}.`;
    const fix = `Add "${pool}" to agentPools of the goal, or name another plan.`;
    return [{ where: `${where}.pool`, reason, fix }];
  });
}

/** Everybody who works for the plan, with the task and the place. */
const placedWorkers = (plan: PinnedCatalog['plan']) =>
  plan.tasks.flatMap((task, index) =>
    workersOf(task).map(({ pool, agent, path }) => ({
      ...{ id: task.id, pool, agent },
      where: ['tasks', index, ...path].reduce<string>(memberWhere, ''),
    })),
  );

const risks: readonly ToolDefinition['risk'][] = ['low', 'medium', 'high', 'critical'];

/**
 * Only declared steps are sure to be called; what a model asks for is the tool guard's to refuse.
 */
function riskViolations(catalog: PinnedCatalog, { riskMax }: PlanRequest): PlanViolation[] {
  if (riskMax === null) return [];
  const limit = risks.indexOf(riskMax);
  return placedWorkers(catalog.plan).flatMap(({ id, agent, where }) =>
    stepTools(own(catalog.agents, agent)).flatMap((name) => {
      const risk = own(catalog.tools, name)?.risk ?? 'low';
      if (risks.indexOf(risk) <= limit) return [];
      const call = `Task "${id}" calls "${name}", a tool of ${risk} risk`;
      const reason = `${call}; the goal allows ${riskMax}.`;
      const fix = `Set riskMax of the goal to ${risk}, or name another plan.`;
      return [{ where: `${where}.agent`, reason, fix }];
    }),
  );
}

function stepTools(agent: AgentDefinition | undefined): readonly string[] {
  if (agent?.kind !== 'procedure') return [];
  return [...new Set(agent.steps.map(({ tool }) => tool))];
}

const own = <T>(all: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(all, name) ? all[name] : undefined;
