/** What the agents of an accepted plan ask of the gateway besides their requests. */

import type { AgentDefinition } from '../../schemas/definitions/agent.ts';
import type { PinnedCatalog } from '../../schemas/definitions/catalog.ts';
import type { JsonObject } from '../../schemas/json.ts';
import type { Members } from '../chassis/effects/member.ts';

/** `answerCacheMs`: an equal request may be answered from a cache for so long. */
export type AgentRules = Readonly<{ answerCacheMs?: number; outputSchema?: JsonObject }>;

function rulesOf(agent: AgentDefinition): AgentRules | undefined {
  if (agent.kind !== 'model') return undefined;
  const { answerCacheMs, outputSchema } = agent;
  if (answerCacheMs === undefined && outputSchema === undefined) return undefined;
  return {
    ...(answerCacheMs === undefined ? {} : { answerCacheMs }),
    ...(outputSchema === undefined ? {} : { outputSchema }),
  };
}

/** By name of the agent; undefined where none asks for anything. */
export function agentRulesOf({ agents }: PinnedCatalog): Members<AgentRules> | undefined {
  const rules = Object.entries(agents).flatMap(([name, agent]) => {
    const found = rulesOf(agent);
    return found === undefined ? [] : [[name, found] as const];
  });
  return rules.length === 0 ? undefined : Object.fromEntries(rules);
}
