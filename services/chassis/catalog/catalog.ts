/**
 * The catalog: plans, agents, tools, pools, MCP servers and models, as they were read at start.
 * Hands out what a session pins; owns no file and changes never.
 */

import type { AgentDefinition } from '../../../schemas/definitions/agent.ts';
import type { ModelRoute, PinnedCatalog } from '../../../schemas/definitions/catalog.ts';
import type { GoalRule } from '../../../schemas/definitions/goal-rule.ts';
import type { McpServerDefinition } from '../../../schemas/definitions/mcp-server.ts';
import type { PlanDefinition } from '../../../schemas/definitions/plan.ts';
import { givesPermits, type PoolDefinition } from '../../../schemas/definitions/pool.ts';
import type { ToolDefinition } from '../../../schemas/definitions/tool.ts';
import type { CatalogNames } from './known-names.ts';
import { withDelegates, workersOfPlan } from './plan-agents.ts';
import type { CatalogProblem } from './problem.ts';
import { replacementModelsOf } from './recovery-policy.ts';
import { serverCheckTools } from './server-checks.ts';

export type CatalogParts = Readonly<{
  plans: Readonly<Record<string, PlanDefinition>>;
  agents: Readonly<Record<string, AgentDefinition>>;
  tools: Readonly<Record<string, ToolDefinition>>;
  pools: readonly PoolDefinition[];
  mcpServers: Readonly<Record<string, McpServerDefinition>>;
  /** Alias to `provider/model`. */
  models: Readonly<Record<string, ModelRoute>>;
  /** Which goals go where, in their order. */
  goalRules: readonly GoalRule[];
  /** Files with the answers of the scripted provider. */
  scripts: readonly string[];
}>;

export type Catalog = CatalogParts &
  Readonly<{
    /** Everything that can be named, also what has problems of its own. */
    names: CatalogNames;
    plan(name: string): PlanDefinition | undefined;
    /**
     * All that a session of this plan uses; undefined if there is no such plan, or it has problems.
     */
    pinnedFor(planName: string): PinnedCatalog | undefined;
    /** Problems of the files of the plan and of what it uses. Empty for an unknown plan. */
    problemsOfPlan(planName: string): readonly CatalogProblem[];
  }>;

/**
 * What `createCatalog` needs beyond the parts. `fileOf` tells the file of a definition, such as
 * `agent:reader`.
 */
export type CatalogFindings = Readonly<{
  names: CatalogNames;
  problems: readonly CatalogProblem[];
  fileOf: ReadonlyMap<string, string>;
}>;

export function createCatalog(parts: CatalogParts, findings: CatalogFindings): Catalog {
  const { names, problems, fileOf } = findings;
  const plan = (name: string) => own(parts.plans, name);
  const problemsOfPlan = (planName: string): readonly CatalogProblem[] => {
    const files = new Set(keysOf(planName, parts).map((key) => fileOf.get(key)));
    return problems.filter(({ file }) => files.has(file));
  };
  return {
    ...parts,
    names,
    plan,
    problemsOfPlan,
    pinnedFor(planName) {
      const found = plan(planName);
      if (found === undefined || problemsOfPlan(planName).length > 0) return undefined;
      return pin(found, parts);
    },
  };
}

function pin(plan: PlanDefinition, parts: CatalogParts): PinnedCatalog {
  const agents = pick(parts.agents, agentNames(plan, parts));
  const used = Object.values(agents);
  const aliases = used.flatMap(modelsOfAgent);
  const limitedPools = limitedOf(plan, parts.pools);
  return {
    plan,
    agents,
    tools: {
      ...pick(
        parts.tools,
        used.flatMap(({ tools }) => tools),
      ),
      ...serverCheckTools(used, parts),
    },
    models: pick(parts.models, [...aliases, ...modelsOfPlan(plan)]),
    ...(limitedPools.length === 0 ? {} : { limitedPools }),
  };
}

/** Pools of the plan that give permits, by name order. */
function limitedOf(plan: PlanDefinition, pools: readonly PoolDefinition[]): readonly string[] {
  const used = new Set(workersOfPlan(plan).map(({ pool }) => pool));
  return pools
    .filter((pool) => used.has(pool.name) && givesPermits(pool))
    .map(({ name }) => name)
    .sort();
}

/** Everything that a plan uses, as keys of `fileOf`. */
function keysOf(planName: string, parts: CatalogParts): string[] {
  const plan = own(parts.plans, planName);
  const agents = plan === undefined ? [] : agentNames(plan, parts);
  const used = agents.flatMap((name) => own(parts.agents, name) ?? []);
  const tools = used.flatMap((agent) => agent.tools);
  const runners = tools.flatMap((name) => own(parts.tools, name)?.runner ?? []);
  return [
    `plan:${planName}`,
    ...(plan === undefined ? [] : workersOfPlan(plan)).map(({ pool }) => `pool:${pool}`),
    ...agents.map((name) => `agent:${name}`),
    ...used.flatMap(modelsOfAgent).map((model) => `model:${model}`),
    ...tools.map((name) => `tool:${name}`),
    ...(plan === undefined ? [] : modelsOfPlan(plan)).map((model) => `model:${model}`),
    ...runners.map((runner) => `server:${runner.kind === 'mcp' ? runner.server : ''}`),
  ];
}

/** Models that the plan itself asks: an alias, or `provider/model`. */
export function modelsOfPlan({ planning, output }: PlanDefinition): string[] {
  return [planning?.model, output.synthesis?.model].filter((one) => one !== undefined);
}

/** Every model that the agent may ask in its loop: an alias, or `provider/model`. */
export function modelsOfAgent(agent: AgentDefinition): readonly string[] {
  if (agent.kind === 'procedure') return [];
  const { model, onError, context } = agent;
  return [
    model,
    ...(onError?.models ?? []),
    ...replacementModelsOf(agent),
    ...(context === undefined ? [] : [context.summary.model]),
  ];
}

/** Those that the plan names, those that may take over from them, and those that they may give work to. */
function agentNames(plan: PlanDefinition, { agents }: CatalogParts): readonly string[] {
  const named = workersOfPlan(plan).map(({ agent }) => agent);
  return withDelegates(named, agents);
}

/** The named members that exist, by name order, so that the same files give the same bytes. */
function pick<T>(all: Readonly<Record<string, T>>, names: readonly string[]): Record<string, T> {
  const found = [...new Set(names)].sort().flatMap((name) => {
    const value = own(all, name);
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(found);
}

function own<T>(all: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(all, name) ? all[name] : undefined;
}
