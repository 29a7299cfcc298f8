/**
 * When an agent may give work to another one. Asked by the pool, which makes a task of what is allowed, and by the tool
 * guard, which says of everything else what is wrong with it.
 */

import type { AgentDefinition } from '../../../schemas/definitions/agent.ts';
import type { JsonObject, JsonValue } from '../../../schemas/json.ts';
import { limits } from '../../../schemas/limits.ts';
import { delegatedId } from '../catalog/child-task.ts';
import { delegate, handoff } from '../catalog/delegation-tools.ts';
import { nearest } from '../words/nearest.ts';

/** How a task came to its agent; nothing for one that nobody gave away. */
export type Lineage = Readonly<{ depth: number; depthMax?: number; handoffs: number }>;

export const ofPlan: Lineage = { depth: 0, handoffs: 0 };

/** The call, whose arguments fit their schema. `made`: how often the task was delegated from so far. */
export type Giving = Readonly<{
  agent: Pick<AgentDefinition, 'name' | 'delegates' | 'handoffs'>;
  tool: string;
  task: string;
  arguments: JsonValue;
  lineage: Lineage;
  made: number;
}>;

export type Refusal = Readonly<{ code: string; message: string; fix: string }>;

export const givesWork = (tool: string): boolean => tool === delegate || tool === handoff;

const finish = 'Finish the task yourself.';

/** Why the work may not be given away; undefined where it may. */
export function refusalOf(giving: Giving): Refusal | undefined {
  const { agent, tool, task, made } = giving;
  const policy = tool === delegate ? agent.delegates : agent.handoffs;
  if (policy === undefined) {
    const message = `Agent "${agent.name}" may not use "${tool}".`;
    return { code: 'DELEGATION_NOT_ALLOWED', message, fix: finish };
  }
  const name = String((giving.arguments as JsonObject)['agent'] ?? '');
  if (!policy.agents.includes(name)) return unknownAgent(tool, name, policy.agents);
  if (delegatedId(task, made + 1).length > limits.compositeIdCharactersMax) {
    const message = `Task "${task}" lies too many levels deep.`;
    return { code: 'DELEGATION_TOO_DEEP', message, fix: finish };
  }
  return tool === delegate ? delegateRefusal(giving) : handoffRefusal(giving);
}

function unknownAgent(tool: string, name: string, known: readonly string[]): Refusal {
  const near = nearest(name, known);
  const guess = near === undefined ? '' : `Did you mean "${near}"? `;
  const what = tool === delegate ? 'delegate to' : 'hand the task on to';
  const message = `There is no agent "${name}" that you may ${what}.`;
  return { code: 'DELEGATE_UNKNOWN', message, fix: `${guess}Use one of: ${known.join(', ')}.` };
}

/** How many agents may delegate one below the other here: the least that anybody above has said. */
export const depthMaxOf = ({ agent, lineage }: Pick<Giving, 'agent' | 'lineage'>): number =>
  Math.min(agent.delegates?.depthMax ?? Infinity, lineage.depthMax ?? Infinity);

function delegateRefusal(giving: Giving): Refusal | undefined {
  const { delegates } = giving.agent;
  const depthMax = depthMaxOf(giving);
  if (giving.lineage.depth >= depthMax) {
    const message = `This task lies ${giving.lineage.depth} delegations deep already, and ${depthMax} is the limit (depthMax).`;
    return { code: 'DELEGATION_TOO_DEEP', message, fix: finish };
  }
  if (delegates !== undefined && giving.made >= delegates.countMax) {
    const message = `This task was delegated from ${giving.made} times, which is the limit (countMax).`;
    return { code: 'DELEGATIONS_SPENT', message, fix: finish };
  }
  const most = delegates?.budgetPercentMax ?? 100;
  const percent = Number((giving.arguments as JsonObject)['budgetPercent'] ?? most);
  if (percent <= most) return undefined;
  const message = `A delegate may get ${most} percent of what is left (budgetPercentMax), not ${percent}.`;
  return { code: 'DELEGATION_TOO_DEAR', message, fix: `Use at most ${most}, or leave it out.` };
}

function handoffRefusal({ agent, lineage }: Giving): Refusal | undefined {
  const most = agent.handoffs?.handoffsMax ?? 0;
  if (lineage.handoffs < most) return undefined;
  const message = `This task was handed on ${lineage.handoffs} times already, and ${most} is the limit (handoffsMax).`;
  return { code: 'HANDOFFS_SPENT', message, fix: finish };
}

/** A hand-off that stands beside other calls: nobody would read what they give. */
export const notAlone: Refusal = {
  code: 'HANDOFF_NOT_ALONE',
  message: 'A hand-off ends the agent, so nobody would read what its other calls give.',
  fix: 'Make the hand-off the only call of your answer, after the others have answered.',
};
