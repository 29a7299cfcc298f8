import type { AgentDefinition } from '../../../schemas/definitions/agent.ts';

/**
 * Whether a further attempt goes on after what the one before has recorded. Agents that were pinned before there were
 * forms start again with their first step.
 */
export const resumesAttempts = (agent: AgentDefinition | undefined): boolean =>
  agent?.form !== undefined && agent.onError?.attempts !== 'restart';
