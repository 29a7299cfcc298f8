import type { AgentDefinition } from './agent.ts';
import type { PlanDefinition } from './plan.ts';
import type { ToolDefinition } from './tool.ts';

/** What a session pins when its plan is accepted: bodies, so that later changes of files do not touch it. */
export type PinnedCatalog = Readonly<{
  plan: PlanDefinition;
  agents: Readonly<Record<string, AgentDefinition>>;
  tools: Readonly<Record<string, ToolDefinition>>;
  /** Model aliases as they were: alias -> `provider/model`. */
  models: Readonly<Record<string, string>>;
}>;
