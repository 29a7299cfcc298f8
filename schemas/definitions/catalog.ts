import type { AgentDefinition } from './agent.ts';
import type { PlanDefinition } from './plan.ts';
import type { ToolDefinition } from './tool.ts';

/** `provider/model`, or several in the order in which they are asked. */
export type ModelRoute = string | readonly string[];

/** What a session pins when its plan is accepted: bodies, so that later changes of files do not touch it. */
export type PinnedCatalog = Readonly<{
  plan: PlanDefinition;
  agents: Readonly<Record<string, AgentDefinition>>;
  tools: Readonly<Record<string, ToolDefinition>>;
  /** Model aliases as they were. */
  models: Readonly<Record<string, ModelRoute>>;
  /** Pools whose tasks ask for a place before they begin; absent where none of the plan's does. */
  limitedPools?: readonly string[];
}>;
